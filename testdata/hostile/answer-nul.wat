;; A text with a NUL in it. It is a valid one, and must come through whole.
;;
;; list: 28
;; get-mapping: answers "a\x00b"
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\03\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (data (i32.const 2048) "a\00b")
  (@provider))
