;; A million exports.
;;
;; list: 20
;; refused: LimitError: the module has 1000000 exports, the limit is 10000
(module binary "\00asm\01\00\00\00"
  "\07" (@sized (@leb 1000000) (@repeat 1000000 "\01a\00\00")))
