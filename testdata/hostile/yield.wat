;; It gives the processor away, for ever: much traffic with the host for little fuel.
;;
;; list: 6, 25
;; fuel: 1,000,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds host-calls
(module
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (drop (call $yield))
      (br $forever))
    unreachable)
  (@provider))
