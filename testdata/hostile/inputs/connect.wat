;; It connects to the host and port that it is asked about, a text such as example.org:80, sends
;; a line, and answers what the other side sends first, or the error as it is.
(module
  (import "husk:provider/tcp@0.2.0" "connect" (func $connect (type $tcp.connect)))
  (import "husk:provider/tcp@0.2.0" "read" (func $read (type $tcp.read)))
  (import "husk:provider/tcp@0.2.0" "write" (func $write (type $tcp.write)))
  (data (i32.const 2048) "GET / HTTP/1.0\r\n\r\n")
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $text i32) (param $length i32) (param i32 i32) (result i32)
    (local $at i32) (local $port i32) (local $scale i32)
    ;; The port is read from its end.
    (local.set $at (i32.add (local.get $text) (local.get $length)))
    (local.set $scale (i32.const 1))
    (block $colon
      (loop $next
        (local.set $at (i32.sub (local.get $at) (i32.const 1)))
        (br_if $colon (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x3a)))
        (local.set $port (i32.add (local.get $port)
          (i32.mul (local.get $scale) (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)))))
        (local.set $scale (i32.mul (local.get $scale) (i32.const 10)))
        (br $next)))
    (call $connect (local.get $text) (i32.sub (local.get $at) (local.get $text)) (local.get $port) (i64.const 5000) (i32.const 4096))
    (if (i32.load8_u (i32.const 4096)) (then
      (memory.copy (i32.const 1024) (i32.const 4096) (i32.const 4))
      (memory.copy (i32.const 1028) (i32.const 4104) (i32.const 128))
      (return (i32.const 1024))))
    (call $write (i64.load (i32.const 4104)) (i32.const 2048) (i32.const 18) (i32.const 4352))
    (call $read (i64.load (i32.const 4104)) (i32.const 100) (i32.const 1) (i32.const 4096))
    (if (i32.load8_u (i32.const 4096)) (then (return (i32.const 4096))))
    (i32.store (i32.const 1028) (i32.load (i32.const 4100)))
    (i32.store (i32.const 1032) (i32.load (i32.const 4104)))
    (i32.const 1024))
  (@provider))
