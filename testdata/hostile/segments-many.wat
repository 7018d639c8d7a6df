;; A million empty data segments.
;;
;; list: 20
;; refused: LimitError: the module has 1000000 data segments, the limit is 200000
(module binary "\00asm\01\00\00\00"
  "\0b" (@sized (@leb 1000000) (@repeat 1000000 "\01\00")))
