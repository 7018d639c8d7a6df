;; A function that calls itself without end.
;;
;; list: 13
;; fuel: 10,000,000,000
;; get-mapping: crashed: exceeds stack
;; get-mapping: crashed: exceeds stack
(module
  (func $deeper (call $deeper))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $deeper)
    unreachable)
  (@provider))
