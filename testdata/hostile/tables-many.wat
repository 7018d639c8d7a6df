;; As many large tables as it takes to be above the limit together.
;;
;; list: 12
;; refused: LimitError: the module has 1120000 elements in its tables, the limit is 1000000
(module
  (@repeat 16 (table 70000 externref))
  (@provider))
