;; It asks the host a question, for ever.
;;
;; list: 25
;; fuel: 1,000,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds host-calls
;; get-mapping: crashed (policy): exceeds host-calls
(module
  (import "husk:provider/control@0.2.0" "cancelled" (func $cancelled (type $control.cancelled)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (drop (call $cancelled))
      (br $forever))
    unreachable)
  (@provider))
