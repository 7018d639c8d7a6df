;; It answers that it has created a resource, without an ID.
;;
;; list: 44
;; create: internal: the provider broke the contract: it created a resource without an ID
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\08\00\00" "\01\00\00\00" "\00\00\00\00")
  (data (i32.const 2048) "\a0")
  (func (export "husk:provider/provider@0.2.0#create") (type $create) (i32.const 1024))
  (@provider))
