;; It logs text that is not UTF-8.
;;
;; list: 28, 30
;; get-mapping: crashed: the provider crashed: log.write.entry.message: invalid UTF-8
(module
  (import "husk:provider/log@0.2.0" "write" (func $write (type $log.write)))
  (data (i32.const 1024) "\ff")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $write (i32.const 1) (i32.const 1024) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))
    unreachable)
  (@provider))
