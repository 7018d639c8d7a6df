;; A table that has more elements from the beginning than a module may have.
;;
;; list: 12, 14
;; refused: LimitError: the module has 1073741823 elements in its tables, the limit is 1000000
(module
  (table 0x3fffffff funcref)
  (@provider))
