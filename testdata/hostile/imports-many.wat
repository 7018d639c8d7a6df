;; 10,000 imports of one function.
;;
;; list: 20
;; refused: LimitError: the module has 10000 imports, the limit is 1000
(module
  (@repeat 10000 (import "wasi_snapshot_preview1" "sched_yield" (func (result i32))))
  (@provider))
