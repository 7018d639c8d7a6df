;; A text of 2³² − 1 bytes: the host must not make room for what a guest only says.
;;
;; list: 17, 28
;; get-mapping: internal: exceeds answer-bytes
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\ff\ff\ff\ff" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
