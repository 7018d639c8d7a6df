;; It sends the request that it is asked about, and answers the response's body, or the error as
;; it is. The request is a text: method, URL, and headers, each ended by the character 1e, in
;; headers the name from the value by 1f.
(module
  (import "husk:provider/http@0.2.0" "send" (func $send (type $http.send)))
  (global $at (mut i32) (i32.const 0))
  ;; The length of the part that begins at $at, up to one of the two characters. $at is then
  ;; behind it.
  (func $part (result i32)
    (local $begin i32)
    (local.set $begin (global.get $at))
    (block $found
      (loop $next
        (br_if $found (i32.eq (i32.and (i32.load8_u (global.get $at)) (i32.const 0xfe)) (i32.const 0x1e)))
        (global.set $at (i32.add (global.get $at) (i32.const 1)))
        (br $next)))
    (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (i32.sub (i32.sub (global.get $at) (i32.const 1)) (local.get $begin)))
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $text i32) (param $length i32) (param i32 i32) (result i32)
    (local $method i32) (local $url i32) (local $end i32) (local $headers i32) (local $entry i32) (local $begin i32)
    (local.set $end (i32.add (local.get $text) (local.get $length)))
    (global.set $at (local.get $text))
    (local.set $method (call $part))
    (local.set $begin (global.get $at))
    (local.set $url (call $part))
    (local.set $entry (i32.const 8192))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (global.get $at) (local.get $end)))
        (i32.store (local.get $entry) (global.get $at))
        (i32.store (i32.add (local.get $entry) (i32.const 4)) (call $part))
        (i32.store (i32.add (local.get $entry) (i32.const 8)) (global.get $at))
        (i32.store (i32.add (local.get $entry) (i32.const 12)) (call $part))
        (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
        (local.set $headers (i32.add (local.get $headers) (i32.const 1)))
        (br $next)))
    (call $send (local.get $text) (local.get $method) (local.get $begin) (local.get $url)
      (i32.const 8192) (local.get $headers) (i32.const 0) (i32.const 0) (i64.const 5000) (i32.const 4096))
    ;; An error lies in the result where it lies in the answer.
    (if (i32.load8_u (i32.const 4096)) (then (return (i32.const 4096))))
    (i32.store (i32.const 1028) (i32.load (i32.const 4112)))
    (i32.store (i32.const 1032) (i32.load (i32.const 4116)))
    (i32.const 1024))
  (@provider))
