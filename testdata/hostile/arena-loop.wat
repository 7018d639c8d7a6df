;; The module never says where its arena is. The host asks before its first call.
;;
;; list: 7, 18
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "husk_arena") (result i32)
    (loop $forever (br $forever))
    unreachable)
  (@provider))
