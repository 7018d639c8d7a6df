;; The function that releases an answer never ends. The answer was there before, and is
;; not lost; the instance is.
;;
;; list: 7
;; fuel: 1,000,000
;; endless: release
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping) (i32.const 1024))
  (func (export "cabi_post_husk:provider/provider@0.2.0#get-mapping") (param i32)
    (loop $forever (br $forever)))
  (@provider))
