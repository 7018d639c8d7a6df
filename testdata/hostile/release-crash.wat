;; The function that releases an answer crashes. The answer was there before, and is
;; not lost; the instance is.
;;
;; list: 7, 15
;; get-mapping: answers ""
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (global $called (mut i32) (i32.const 0))
  (func (export "cabi_post_husk:provider/provider@0.2.0#get-mapping") (param i32) unreachable)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    ;; A second call of the same instance would not be answered.
    (if (global.get $called) (then unreachable))
    (global.set $called (i32.const 1))
    (i32.const 1024))
  (@provider))
