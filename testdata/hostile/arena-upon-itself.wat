;; The arena begins with the numbers that say where it is, so that what the host puts there
;; changes them. The module only deceives itself: it answers what they became.
;;
;; list: 18
;; get-mapping: answers "\t\x10\x00\x00afor"
(module
  (func (export "husk_arena") (result i32) (i32.const 4096))
  (data (i32.const 4096) "\00\10\00\00" "\00\ff\00\00")
  (data (i32.const 1024) "\00\00\00\00" "\00\10\00\00" "\08\00\00\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
