;; It imports a table of functions of others.
;;
;; list: 21, 40
;; refused: ImportError: the module imports "env" "table", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "env" "table" (table 1 funcref))
  (@provider))
