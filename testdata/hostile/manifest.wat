;; Its manifest is not one.
;;
;; list: 21, 29
;; refused: reading the module's manifest: unexpected EOF
(module
  (@custom "husk:provider" "{\"name\": [[[[[[[[")
  (@provider))
