;; It sends GET to the URL that it is asked about, and answers the response's body, or the
;; error as it is.
(module
  (import "husk:provider/http@0.2.0" "send" (func $send (type $http.send)))
  (data (i32.const 2048) "GET")
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $url i32) (param $length i32) (param i32 i32) (result i32)
    (call $send (i32.const 2048) (i32.const 3) (local.get $url) (local.get $length)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 4096))
    ;; An error lies in the result where it lies in the answer.
    (if (i32.load8_u (i32.const 4096)) (then (return (i32.const 4096))))
    (i32.store (i32.const 1028) (i32.load (i32.const 4112)))
    (i32.store (i32.const 1032) (i32.load (i32.const 4116)))
    (i32.const 1024))
  (@provider))
