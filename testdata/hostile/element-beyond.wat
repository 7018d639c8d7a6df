;; An element segment beyond its table, which wazero passes over. What lies beyond
;; cannot be called all the same.
;;
;; list: 14
;; get-mapping: crashed: the provider crashed: invalid table access
(module
  (table 1 funcref)
  (func $f)
  (elem (i32.const 0xffffffff) $f $f)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call_indirect (i32.const -1))
    unreachable)
  (@provider))
