;; It imports a function of WASI that would open a socket.
;;
;; list: 21
;; refused: ImportError: the module imports "wasi_snapshot_preview1" "sock_open", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "wasi_snapshot_preview1" "sock_open" (func (param i32 i32 i32) (result i32)))
  (@provider))
