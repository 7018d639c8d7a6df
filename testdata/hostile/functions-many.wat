;; 500,001 functions.
;;
;; list: 20
;; refused: LimitError: the module has 500001 functions, the limit is 500000
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\60\00\00")
  "\03" (@sized (@leb 500001) (@repeat 500001 "\00")))
