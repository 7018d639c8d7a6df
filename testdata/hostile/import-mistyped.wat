;; It imports a function of WASI by another type.
;;
;; list: 21
;; refused: SignatureError: wasi_snapshot_preview1 fd_close has the type (i64) -> (i32) in the module, but must have (i32) -> (i32)
(module
  (import "wasi_snapshot_preview1" "fd_close" (func (param i64) (result i32)))
  (@provider))
