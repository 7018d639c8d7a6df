;; It looks for variables, directories, and files that it was not granted, under the
;; file descriptors that they have elsewhere.
;;
;; list: 41
;; get-mapping: answers ""
(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (data (i32.const 2048) "/proc/self/environ")
  (data (i32.const 3072) "../../../etc/passwd")
  (func $refused (param $errno i32) (if (i32.eqz (local.get $errno)) (then unreachable)))
  (func $openFrom (param $fd i32)
    (call $refused (call $open (local.get $fd) (i32.const 1) (i32.const 2048) (i32.const 18)
      (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 4096)))
    (call $refused (call $open (local.get $fd) (i32.const 0) (i32.const 3072) (i32.const 19)
      (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 4096))))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (call $environ (i32.const 4096) (i32.const 4100)) (then unreachable))
    (if (i32.load (i32.const 4096)) (then unreachable))
    (call $openFrom (i32.const 0))
    (call $openFrom (i32.const 3))
    (call $openFrom (i32.const 4))
    (call $openFrom (i32.const -1))
    (call $refused (call $read (i32.const 3) (i32.const 4096) (i32.const 0) (i32.const 4100)))
    (i32.const 1024))
  (@provider))
