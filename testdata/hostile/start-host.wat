;; The start function calls the host, which cannot call it back yet.
;;
;; list: 7, 27
;; get-mapping: crashed: the provider crashed: the module calls the host before it is initialized
(module
  (import "husk:provider/log@0.2.0" "write" (func $write (type $log.write)))
  (func $start (call $write (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (start $start)
  (@provider))
