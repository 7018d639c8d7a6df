;; It asks for random bytes beyond its memory.
;;
;; list: 17
;; get-mapping: answers ""
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (i32.eqz (call $random (i32.const 0x1fff0) (i32.const 32))) (then unreachable))
    (if (i32.eqz (call $random (i32.const 0) (i32.const -1))) (then unreachable))
    (i32.const 1024))
  (@provider))
