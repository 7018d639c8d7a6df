;; A function of more than four mebibytes of code.
;;
;; list: 20
;; refused: LimitError: the module has 4200002 bytes of code in one function, the limit is 4194304
(module
  (func (@bytes (@repeat 4200000 "\01")))
  (@provider))
