;; A request with 2²⁸ headers of 16 bytes, which is no bytes at all in 32 bits.
;;
;; list: 17, 28
;; get-mapping: crashed: the provider crashed: http.send.request.headers: the list is longer than a memory can hold
(module
  (import "husk:provider/http@0.2.0" "send" (func $send (type $http.send)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $send (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 1024) (i32.const 0x10000001) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 4096))
    unreachable)
  (@provider))
