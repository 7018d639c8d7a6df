;; It logs with a flag that is neither true nor false.
;;
;; list: 28
;; get-mapping: crashed: the provider crashed: log.write.entry.ephemeral: a bool is neither 0 nor 1
(module
  (import "husk:provider/log@0.2.0" "write" (func $write (type $log.write)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2))
    unreachable)
  (@provider))
