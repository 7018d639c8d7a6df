;; Each instruction copies two mebibytes to where they overlap, for ever.
;;
;; list: 4
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (memory (export "memory") 64)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (memory.copy (i32.const 1) (i32.const 0) (i32.const 0x3fffff))
      (br $forever))
    unreachable)
  (@provider))
