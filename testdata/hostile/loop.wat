;; A loop that never ends.
;;
;; list: 1, 8
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever (br $forever))
    unreachable)
  (@provider))
