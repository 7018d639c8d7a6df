;; A function says in six bytes that it has 2³² − 1 local variables.
;;
;; list: 13, 20
;; refused: LimitError: the module has 4294967295 local variables in one function, the limit is 10000
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\60\00\00")
  "\03" (@sized "\01\00")
  "\0a" (@sized "\01" (@sized "\01\ff\ff\ff\ff\0f\7e" "\0b")))
