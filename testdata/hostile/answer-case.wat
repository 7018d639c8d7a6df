;; The answer is neither a result nor an error.
;;
;; list: 28
;; get-mapping: internal: the provider's answer is not what the contract asks for: provider.get-mapping: there is no such case
(module
  (data (i32.const 1024) "\02\00\00\00" "\00\08\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
