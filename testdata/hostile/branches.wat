;; 60,001 blocks in a row. A compiler needs minutes for some hundred thousand.
;;
;; list: 20
;; refused: LimitError: the module has 60001 blocks and branches in one function, the limit is 60000
(module
  (func (@repeat 60001 block end))
  (@provider))
