;; A function as Go's compiler writes it goes round its jump table for ever, and does nothing in it.
;;
;; list: 1, 45
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func $spin (param i32) (result i32)
    (loop $go-on
      (block $second
        (block $first
          (br_table $first $second (local.get 0)))
        (local.set 0 (i32.const 1))
        (br $go-on))
      (local.set 0 (i32.const 0))
      (br $go-on))
    unreachable)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $spin (i32.const 0)))
  (@provider))
