;; The answer is an error of a kind that there is not.
;;
;; list: 28
;; get-mapping: internal: the provider's answer is not what the contract asks for: error.kind: there is no such case
(module
  (data (i32.const 1024) "\01\00\00\00" "\ff\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
