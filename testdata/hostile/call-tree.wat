;; A function that calls itself twice, sixty deep: there is no loop, and no end in sight.
;;
;; list: 2
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func $deeper (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (return)))
    (call $deeper (i32.sub (local.get $depth) (i32.const 1)))
    (call $deeper (i32.sub (local.get $depth) (i32.const 1))))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $deeper (i32.const 60))
    unreachable)
  (@provider))
