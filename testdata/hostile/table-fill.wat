;; Each instruction fills a table of 500,000 functions, for ever.
;;
;; list: 4
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (table 500000 funcref)
  (func $f)
  (elem declare func $f)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (table.fill (i32.const 0) (ref.func $f) (i32.const 500000))
      (br $forever))
    unreachable)
  (@provider))
