;; It makes up handles of exchanges, connections, and contents, uses them, and closes
;; them twice. Each use is refused.
;;
;; list: 26
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (import "husk:provider/http@0.2.0" "write" (func $http.write (type $http.write)))
  (import "husk:provider/http@0.2.0" "finish" (func $http.finish (type $http.finish)))
  (import "husk:provider/http@0.2.0" "read" (func $http.read (type $http.read)))
  (import "husk:provider/http@0.2.0" "close" (func $http.close (type $http.close)))
  (import "husk:provider/tcp@0.2.0" "read" (func $tcp.read (type $tcp.read)))
  (import "husk:provider/tcp@0.2.0" "write" (func $tcp.write (type $tcp.write)))
  (import "husk:provider/tcp@0.2.0" "close-write" (func $tcp.close-write (type $tcp.close-write)))
  (import "husk:provider/tcp@0.2.0" "close" (func $tcp.close (type $tcp.close)))
  (import "husk:provider/assets@0.2.0" "read" (func $assets.read (type $assets.read)))
  (import "husk:provider/assets@0.2.0" "close" (func $assets.close (type $assets.close)))

  ;; A result at 4096 must be an error.
  (func $refused (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const 1)) (then unreachable)))
  (func $use (param $handle i64)
    (call $http.write (local.get $handle) (i32.const 0) (i32.const 1) (i32.const 4096)) (call $refused)
    (call $http.finish (local.get $handle) (i32.const 4096)) (call $refused)
    (call $http.read (local.get $handle) (i32.const 1) (i32.const 4096)) (call $refused)
    (call $tcp.read (local.get $handle) (i32.const 1) (i32.const 0) (i32.const 4096)) (call $refused)
    (call $tcp.write (local.get $handle) (i32.const 0) (i32.const 1) (i32.const 4096)) (call $refused)
    (call $tcp.close-write (local.get $handle) (i32.const 4096)) (call $refused)
    (call $assets.read (local.get $handle) (i32.const 1) (i32.const 4096)) (call $refused)
    (@repeat 2
      (call $http.close (local.get $handle))
      (call $tcp.close (local.get $handle))
      (call $assets.close (local.get $handle))))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $use (i64.const 0))
    (call $use (i64.const 1))
    (call $use (i64.const 0x7fffffffffffffff))
    (call $use (i64.const -1))
    (i32.const 1024))
  (@provider))
