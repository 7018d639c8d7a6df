;; The allocator answers the same address each time, so that the parts of a request lie
;; upon each other. It only deceives itself: it answers the last one.
;;
;; list: 18
;; get-mapping: answers "terraform"
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (data (i32.const 1024) "\00\00\00\00" "\00\10\00\00" "\09\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
