;; It reads a store that it was not granted, and passes the refusal on. That the host
;; refused it is not for a guest to say.
;;
;; list: 40, 41
;; get-mapping: denied (guest): the provider may not keep values: its grants have no store
(module
  (import "husk:provider/kv@0.2.0" "get" (func $get (type $kv.get)))
  (data (i32.const 2048) "secret")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $get (i32.const 2048) (i32.const 6) (i32.const 4096))
    ;; The error of the result is the answer. It lies 4 bytes further on there.
    (i32.store (i32.const 8192) (i32.load (i32.const 4096)))
    (memory.copy (i32.const 8196) (i32.const 4104) (i32.const 48))
    (i32.const 8192))
  (@provider))
