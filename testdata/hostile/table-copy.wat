;; Each instruction copies a table of 500,000 functions onto itself, for ever.
;;
;; list: 4
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (table 500000 funcref)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (table.copy (i32.const 1) (i32.const 0) (i32.const 499999))
      (br $forever))
    unreachable)
  (@provider))
