;; The answer itself lies outside of the memory.
;;
;; list: 17
;; get-mapping: internal: the provider's answer is not what the contract asks for: provider.get-mapping: the pointer and length lie outside of the memory
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 0x40000000))
  (@provider))
