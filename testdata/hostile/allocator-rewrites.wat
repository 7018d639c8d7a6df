;; The allocator changes the arguments of the call of the host that it is needed for.
;; The host has its own copy by then: what it asks its store for is what was checked.
;;
;; list: 17, 18
;; get-mapping: denied (guest): the provider may not keep values: its grants have no store
(module
  (import "husk:provider/kv@0.2.0" "get" (func $get (type $kv.get)))
  (data (i32.const 2048) "harmless")
  (global $asking (mut i32) (i32.const 0))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (if (global.get $asking) (then (memory.fill (i32.const 2048) (i32.const 0xff) (i32.const 8))))
    (i32.const 0x10000))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (global.set $asking (i32.const 1))
    (call $get (i32.const 2048) (i32.const 8) (i32.const 4096))
    (i32.store (i32.const 8192) (i32.load (i32.const 4096)))
    (memory.copy (i32.const 8196) (i32.const 4104) (i32.const 48))
    (i32.const 8192))
  (@provider))
