;; A br_table of 100,000 labels.
;;
;; list: 20
;; refused: LimitError: the module has 100000 labels of jumps in one function, the limit is 50000
(module
  (func (br_table (@repeat 100001 0) (i32.const 0)))
  (@provider))
