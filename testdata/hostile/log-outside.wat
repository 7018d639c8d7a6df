;; It logs a message that lies outside of its memory.
;;
;; list: 17
;; get-mapping: crashed: the provider crashed: log.write.entry.message: the pointer and length lie outside of the memory
(module
  (import "husk:provider/log@0.2.0" "write" (func $write (type $log.write)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $write (i32.const 1) (i32.const 0x1fff0) (i32.const 0x1000) (i32.const 0) (i32.const 0) (i32.const 0))
    unreachable)
  (@provider))
