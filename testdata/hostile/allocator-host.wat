;; The allocator calls the host, which needs memory for its answer and calls the
;; allocator, and so on.
;;
;; list: 18, 27
;; get-mapping: crashed: the provider crashed: error.message: the module calls the host while the host calls it, without end
;; get-mapping: crashed: the provider crashed: error.message: the module calls the host while the host calls it, without end
(module
  (import "husk:provider/kv@0.2.0" "get" (func $get (type $kv.get)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (call $get (i32.const 2048) (i32.const 8) (i32.const 1024))
    (i32.const 1024))
  (@provider))
