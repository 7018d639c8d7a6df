;; An error that has the state of a resource with it, but is of another kind.
;;
;; list: 28, 44
;; create: internal: the provider's answer is not what the contract asks for: error.init-failure: it must be present exactly when the kind is init-failed
(module
  (data (i32.const 1024) "\01\00\00\00" "\07\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\01\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\08\00\00" "\01\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 2048) "\a0")
  (func (export "husk:provider/provider@0.2.0#create") (type $create) (i32.const 1024))
  (@provider))
