;; A br_table that says it has 2³² − 1 labels.
;;
;; list: 20
;; refused: LimitError: the module has 4294967295 labels of jumps in one function, the limit is 50000
(module
  (func (@bytes "\41\00\0e\ff\ff\ff\ff\0f\00"))
  (@provider))
