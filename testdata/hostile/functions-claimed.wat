;; A section that says in five bytes that there are 2³² − 1 functions.
;;
;; list: 20
;; refused: LimitError: the module has 4294967295 functions, the limit is 500000
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\60\00\00")
  "\03" (@sized (@leb 4294967295)))
