;; The allocator crashes.
;;
;; list: 18
;; get-mapping: crashed: the provider crashed: unreachable
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  (@provider))
