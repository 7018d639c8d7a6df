;; The answer is at an odd address.
;;
;; list: 17
;; get-mapping: internal: the provider's answer is not what the contract asks for: provider.get-mapping: the pointer is not aligned
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1025))
  (@provider))
