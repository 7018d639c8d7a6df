;; It answers a read with the ID of another resource, in which a terminal is told to do
;; something.
;;
;; list: 30, 44
;; read: answers "\x1b]0;title\a"
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\0a\00\00\00" "\00\0c\00\00" "\01\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 2048) "\1b]0;title\07")
  (data (i32.const 3072) "\a0")
  (func (export "husk:provider/provider@0.2.0#read") (type $read) (i32.const 1024))
  (@provider))
