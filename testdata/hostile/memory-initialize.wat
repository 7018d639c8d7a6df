;; Each instruction copies a passive segment of 60,000 bytes, for ever.
;;
;; list: 4
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (data $passive (@repeat 60000 "x"))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 60000))
      (br $forever))
    unreachable)
  (@provider))
