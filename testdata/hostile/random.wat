;; It asks for all of its memory in random bytes, for ever.
;;
;; list: 25, 41
;; fuel: 1,000,000,000
;; calls: 1,000,000
;; pages: 256
;; get-mapping: crashed (policy): exceeds random-bytes
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 256)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (drop (call $random (i32.const 0) (i32.const 0x1000000)))
      (br $forever))
    unreachable)
  (@provider))
