;; It imports a global variable.
;;
;; list: 21, 40
;; refused: ImportError: the module imports "env" "global", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "env" "global" (global (mut i32)))
  (@provider))
