;; The same with 10,000 local variables in each frame, as many as there may be.
;;
;; list: 13
;; fuel: 10,000,000,000
;; get-mapping: crashed: exceeds stack
(module
  (func $deeper (param i64) (result i64)
    (local (@repeat 10000 i64))
    (local.set 9999 (local.get 0))
    (i64.add (call $deeper (local.get 5000)) (local.get 9999)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (drop (call $deeper (i64.const 1)))
    unreachable)
  (@provider))
