;; 50,000 local variables in one function.
;;
;; list: 13, 20
;; refused: LimitError: the module has 50000 local variables in one function, the limit is 10000
(module
  (func (local (@repeat 50000 i64)))
  (@provider))
