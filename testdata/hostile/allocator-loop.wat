;; The allocator never ends. The host calls it to pass a request, before the method.
;;
;; list: 7, 18
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (loop $forever (br $forever))
    unreachable)
  (@provider))
