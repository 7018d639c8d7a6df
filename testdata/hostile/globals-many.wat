;; A million global variables.
;;
;; list: 20
;; refused: LimitError: the module has 1000000 global variables, the limit is 10000
(module binary "\00asm\01\00\00\00"
  "\06" (@sized (@leb 1000000) (@repeat 1000000 "\7f\00\41\00\0b")))
