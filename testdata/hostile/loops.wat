;; 1,001 loops in one function, with each of which the compiler's work grows.
;;
;; list: 20
;; refused: LimitError: the module has 1001 loops in one function, the limit is 1000
(module
  (func (@repeat 1001 loop end))
  (@provider))
