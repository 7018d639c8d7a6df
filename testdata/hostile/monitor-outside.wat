;; It uses the resource monitor in a method that has none.
;;
;; list: 26, 41
;; get-mapping: denied (guest): the monitor can be used only while a component is constructed or called
(module
  (import "husk:provider/monitor@0.2.0" "wait" (func $wait (type $monitor.wait)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $wait (i32.const 4096))
    ;; The error of the result is the answer. It lies 4 bytes further on there.
    (i32.store (i32.const 8192) (i32.load (i32.const 4096)))
    (memory.copy (i32.const 8196) (i32.const 4104) (i32.const 48))
    (i32.const 8192))
  (@provider))
