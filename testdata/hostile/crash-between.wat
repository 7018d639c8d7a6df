;; It answers the first call of each instance and crashes in the second. A crash fails
;; one call, and the next one finds a fresh instance.
;;
;; list: 15, 16
;; get-mapping: answers ""
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: answers ""
;; get-mapping: crashed: the provider crashed: unreachable
(module
  (global $called (mut i32) (i32.const 0))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (global.get $called) (then unreachable))
    (global.set $called (i32.const 1))
    (i32.const 1024))
  (@provider))
