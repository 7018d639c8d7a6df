;; Its manifest is not one.
;;
;; list: 21, 29
;; refused: reading the module's manifest: it ends too early: a bracket, a brace, or a quote is not closed
(module
  (@custom "husk:provider" "{\"name\": [[[[[[[[")
  (@provider))
