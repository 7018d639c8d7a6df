;; It makes up descriptors of connections and exchanges, and uses and waits for them, and looks up names that
;; it is not granted ten thousand times. Each use is refused, and no wait takes any time.
;;
;; list: 6, 26
;; fuel: 20,000,000
;; calls: 20,000
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (import "husk:provider/tcp@0.2.0" "begin" (func $tcp.begin (type $tcp.begin)))
  (import "husk:provider/tcp@0.2.0" "resolve" (func $resolve (type $tcp.resolve)))
  (import "husk:provider/tcp@0.2.0" "status" (func $tcp.status (type $tcp.status)))
  (import "husk:provider/http@0.2.0" "status" (func $http.status (type $http.status)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $stat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_shutdown" (func $shutdown (param i32 i32) (result i32)))
  (data (i32.const 2048) "db.example.org")
  ;; Two subscriptions, to read and to write.
  (data (i32.const 3072) "\01\00\00\00\00\00\00\00\01")
  (data (i32.const 3120) "\02\00\00\00\00\00\00\00\02")

  ;; A result at 4096 must be an error.
  (func $refused (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const 1)) (then unreachable)))
  ;; An errno must be EBADF.
  (func $bad (param i32) (if (i32.ne (local.get 0) (i32.const 8)) (then unreachable)))
  (func $use (param $fd i32)
    (call $tcp.status (i64.extend_i32_u (local.get $fd)) (i32.const 4096)) (call $refused)
    (call $http.status (i64.extend_i32_u (local.get $fd)) (i32.const 4096)) (call $refused)
    (call $bad (call $read (local.get $fd) (i32.const 1024) (i32.const 0) (i32.const 1032)))
    (call $bad (call $write (local.get $fd) (i32.const 1024) (i32.const 0) (i32.const 1032)))
    (call $bad (call $stat (local.get $fd) (i32.const 1024)))
    (call $bad (call $shutdown (local.get $fd) (i32.const 2)))
    (call $bad (call $renumber (local.get $fd) (i32.const 1)))
    (call $bad (call $renumber (i32.const 1) (local.get $fd)))
    (call $bad (call $close (local.get $fd)))
    (i32.store (i32.const 3088) (local.get $fd))
    (i32.store (i32.const 3136) (local.get $fd))
    (if (call $poll (i32.const 3072) (i32.const 5120) (i32.const 2) (i32.const 3200)) (then unreachable))
    (if (i32.ne (i32.load (i32.const 3200)) (i32.const 2)) (then unreachable))
    (call $bad (i32.load16_u (i32.const 5128)))
    (call $bad (i32.load16_u (i32.const 5160))))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (local $left i32)
    (call $use (i32.const 0x100000))
    (call $use (i32.const 0x100001))
    (call $use (i32.const 0x7fffffff))
    (call $use (i32.const -1))
    (call $tcp.begin (i32.const 2048) (i32.const 14) (i32.const 5432) (i64.const 0) (i32.const 4096))
    (call $refused)
    (local.set $left (i32.const 10000))
    (loop $next
      (global.set $heap (i32.const 0x11000)) ;; refusals take no more memory
      (call $resolve (i32.const 2048) (i32.const 14) (i32.const 0) (i32.const 4096))
      (call $refused)
      (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (i32.const 8192))
  (@provider))
