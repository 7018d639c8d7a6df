;; 25,001 blocks in a row. A compiler needs minutes for some hundred thousand.
;;
;; list: 20
;; refused: LimitError: the module has 25001 blocks and branches in one function, the limit is 25000
(module
  (func (@repeat 25001 block end))
  (@provider))
