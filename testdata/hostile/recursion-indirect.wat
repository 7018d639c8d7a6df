;; Recursion through a table and the allocator: the host's own calls of the guest must
;; not deepen the stack for ever.
;;
;; list: 13, 27
;; fuel: 10,000,000,000
;; get-mapping: crashed: exceeds stack
(module
  (table funcref (elem $deeper))
  (func $deeper (call_indirect (i32.const 0)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (call $deeper)
    unreachable)
  (@provider))
