;; A loop of 200,000 instructions in a row. A host that interrupts guests between
;; functions, or at loops only, waits long for it.
;;
;; list: 3
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (@repeat 100000 (drop (i32.const 1)))
      (br $forever))
    unreachable)
  (@provider))
