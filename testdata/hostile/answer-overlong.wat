;; A text with a line break in a longer encoding, which some filters do not see.
;;
;; list: 28
;; get-mapping: internal: the provider's answer is not what the contract asks for: get-mapping-response.provider: invalid UTF-8
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\02\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (data (i32.const 2048) "\c0\8a")
  (@provider))
