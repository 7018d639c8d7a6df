;; A function whose code pops from an empty stack. Only a compiler that checks sees it.
;;
;; list: 19
;; refused: the module is invalid: invalid function[0]: cannot pop the 1st operand for i32.add: i32 missing
(module
  (func i32.add drop)
  (@provider))
