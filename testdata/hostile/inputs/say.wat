;; It logs the key that it is asked about, as a message and as the name of a resource, and
;; prints it; once, or for ever if there is a provider in the request.
(module
  (import "husk:provider/log@0.2.0" "write" (func $log (type $log.write)))
  (import "wasi_snapshot_preview1" "fd_write" (func $print (param i32 i32 i32 i32) (result i32)))
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $text i32) (param $length i32) (param $for i32) (param $ever i32) (result i32)
    (i32.store (i32.const 2048) (local.get $text))
    (i32.store (i32.const 2052) (local.get $length))
    (loop $again
      (call $log (i32.const 3) (local.get $text) (local.get $length) (local.get $text) (local.get $length) (i32.const 0))
      (drop (call $print (i32.const 2) (i32.const 2048) (i32.const 1) (i32.const 2056)))
      (br_if $again (local.get $ever)))
    (i32.const 1024))
  (@provider))
