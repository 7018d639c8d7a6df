;; It waits for 2³² − 1 things at once, which would be 200 GiB of subscriptions.
;;
;; list: 6, 17
;; get-mapping: answers ""
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (i32.eqz (call $poll (i32.const 1024) (i32.const 2048) (i32.const -1) (i32.const 3072)))
      (then unreachable))
    (i32.const 8192))
  (@provider))
