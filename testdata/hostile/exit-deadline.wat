;; It exits with the code that wazero uses for a deadline, in the middle of a method.
;; That is neither an ended call nor an answer.
;;
;; list: 9
;; get-mapping: crashed: the provider crashed: it exited with code 4026531839
;; get-mapping: crashed: the provider crashed: it exited with code 4026531839
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $exit (i32.const 0xefffffff))
    unreachable)
  (@provider))
