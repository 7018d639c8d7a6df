;; It sleeps for 2⁶³ nanoseconds. No fuel is used meanwhile: what the host waits for
;; must end too.
;;
;; list: 6, 10
;; endless: get-mapping
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  ;; A subscription to the monotonic clock.
  (data (i32.const 1024) "\01\00\00\00\00\00\00\00" "\00\00\00\00\00\00\00\00"
    "\01\00\00\00\00\00\00\00" "\00\00\00\00\00\00\00\80")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 3072)))
    unreachable)
  (@provider))
