;; 10,000 custom sections of one name.
;;
;; list: 20
;; refused: LimitError: the module has 1001 custom sections, the limit is 1000
(module
  (@repeat 10000 (@custom "x"))
  (@provider))
