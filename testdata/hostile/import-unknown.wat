;; It imports a function of the environment.
;;
;; list: 21
;; refused: ImportError: the module imports "env" "system", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "env" "system" (func (param i32) (result i32)))
  (@provider))
