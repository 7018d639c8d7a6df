;; A list of 2²⁹ + 1 elements of eight bytes, which is 8 bytes in 32 bits.
;;
;; list: 17, 28
;; get-mappings: internal: the provider's answer is not what the contract asks for: get-mappings-response.providers: the list is longer than a memory can hold
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\01\00\00\20")
  (func (export "husk:provider/provider@0.2.0#get-mappings") (type $get-mappings) (i32.const 1024))
  (@provider))
