;; It reads at the last addresses of 32 bits, and beyond them, from a memory without a
;; maximum.
;;
;; list: 14, 17
;; get-mapping: crashed: the provider crashed: out of bounds memory access
;; get-mapping: crashed: the provider crashed: out of bounds memory access
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i64.load offset=0xffffffff (i32.const 0xfffffffc))
    drop
    unreachable)
  (@provider))
