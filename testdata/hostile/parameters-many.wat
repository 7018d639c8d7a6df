;; A function of 2,000 results, which some engines keep on the stack of the host.
;;
;; list: 20
;; refused: LimitError: the module has 2000 parameters or results of one function, the limit is 1000
(module
  (type (func (result (@repeat 2000 i64))))
  (@provider))
