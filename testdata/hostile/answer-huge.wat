;; A text of 100 MB that is really there: more than all values of an answer may take.
;;
;; list: 28
;; pages: 2048
;; fuel: 100,000,000
;; get-mapping: internal: exceeds answer-bytes
(module
  (memory (export "memory") 2048)
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\00\e1\f5\05" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
