;; It imports a memory, which it would share with others.
;;
;; list: 21, 40
;; refused: ImportError: the module imports "env" "memory", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "env" "memory" (memory 1))
  (export "memory" (memory 0))
  (@provider))
