;; A text with half of a surrogate pair, as JavaScript has it and UTF-8 has not.
;;
;; list: 28
;; get-mapping: internal: the provider's answer is not what the contract asks for: get-mapping-response.provider: invalid UTF-8
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\03\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (data (i32.const 2048) "\ed\a0\80")
  (@provider))
