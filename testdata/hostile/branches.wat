;; 70,001 blocks in a row. A compiler needs minutes for some hundred thousand.
;;
;; list: 20
;; refused: LimitError: the module has 70001 blocks and branches in one function, the limit is 70000
(module
  (func (@repeat 70001 block end))
  (@provider))
