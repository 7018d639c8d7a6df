;; It has the host write a result outside of its memory.
;;
;; list: 17
;; get-mapping: crashed: the provider crashed: the pointer and length lie outside of the memory
(module
  (import "husk:provider/kv@0.2.0" "get" (func $get (type $kv.get)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $get (i32.const 0) (i32.const 1) (i32.const 0x7ffffff0))
    unreachable)
  (@provider))
