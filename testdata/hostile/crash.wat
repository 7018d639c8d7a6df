;; It crashes in each call, as soon as it is called.
;;
;; list: 15
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: crashed: the provider crashed: unreachable
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    unreachable)
  (@provider))
