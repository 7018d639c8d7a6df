;; A million types.
;;
;; list: 20
;; refused: LimitError: the module has 1000000 types, the limit is 10000
(module binary "\00asm\01\00\00\00"
  "\01" (@sized (@leb 1000000) (@repeat 1000000 "\60\00\00")))
