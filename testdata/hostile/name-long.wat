;; A custom section whose name has a megabyte.
;;
;; list: 20
;; refused: LimitError: the module has 1000000 bytes in one name, the limit is 10000
(module binary "\00asm\01\00\00\00"
  "\00" (@sized (@sized (@repeat 1000000 "x"))))
