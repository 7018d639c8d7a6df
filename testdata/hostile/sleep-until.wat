;; It sleeps until a time of the monotonic clock that lies far in the future, and again
;; if it is woken.
;;
;; list: 6, 10
;; endless: get-mapping
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (data (i32.const 1024) "\01\00\00\00\00\00\00\00" "\00\00\00\00\00\00\00\00"
    "\01\00\00\00\00\00\00\00" "\ff\ff\ff\ff\ff\ff\ff\7f" "\00\00\00\00\00\00\00\00" "\01\00")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $again
      (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 3072)))
      (br $again))
    unreachable)
  (@provider))
