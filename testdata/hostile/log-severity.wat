;; It logs with a severity that there is not.
;;
;; list: 28
;; get-mapping: crashed: the provider crashed: log.write.entry.severity: there is no such case
(module
  (import "husk:provider/log@0.2.0" "write" (func $write (type $log.write)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $write (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    unreachable)
  (@provider))
