;; The address and the length of the text come to more than 32 bits, and to a small
;; number again.
;;
;; list: 17
;; get-mapping: internal: the provider's answer is not what the contract asks for: get-mapping-response.provider: the pointer and length lie outside of the memory
(module
  (data (i32.const 1024) "\00\00\00\00" "\f0\ff\ff\ff" "\20\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
