;; It writes 2³² − 1 vectors, and a vector that wraps around in its memory.
;;
;; list: 17, 28
;; get-mapping: answers ""
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (data (i32.const 2048) "\f0\ff\ff\ff" "\20\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (i32.eqz (call $write (i32.const 1) (i32.const 2048) (i32.const -1) (i32.const 4096))) (then unreachable))
    (if (i32.eqz (call $write (i32.const 1) (i32.const 2048) (i32.const 1) (i32.const 4096))) (then unreachable))
    (if (i32.eqz (call $write (i32.const 1) (i32.const 2048) (i32.const 0) (i32.const 0x7fffffff))) (then unreachable))
    (i32.const 1024))
  (@provider))
