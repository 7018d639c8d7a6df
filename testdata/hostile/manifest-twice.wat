;; Two manifests: one for who reviews it, and one for who runs it.
;;
;; list: 21
;; refused: reading the module's manifest: the manifest has no name
(module
  (@custom "husk:provider" "{}")
  (@custom "husk:provider" "{}")
  (@provider))
