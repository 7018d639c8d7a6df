;; A function that looks as if Go's compiler had written it: a loop around a jump table, which its
;; parameter goes by. But it reads the parameter behind the block around the loop, on the stack below it,
;; and before it is set. It looks itself whether it gets what it should.
;;
;; list: 45
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (func $behind (param i32) (result i32)
    (block $leave
      (loop $go-on
        (block $second
          (block $first
            (br_table $first $second (local.get 0)))
          (local.set 0 (i32.const 1))
          (br $go-on))
        (br $leave))
      unreachable)
    (local.get 0))
  (func $before (param i32) (result i32)
    (local $sum i32)
    (block $leave
      (loop $go-on
        (block $third
          (block $second
            (block $first
              (br_table $first $second $third (local.get 0)))
            (local.set $sum (i32.add (local.get $sum) (i32.const 10)))
            (local.set 0 (i32.const 1))
            (br $go-on))
          (local.set $sum (i32.add (local.get $sum) (local.get 0)))
          (br_if $leave (i32.gt_u (local.get $sum) (i32.const 20)))
          (local.set 0 (i32.const 0))
          (br $go-on))
        (br $leave))
      unreachable)
    (local.get $sum))
  (func $below (param i32) (result i32)
    (i32.const 40)
    (block $leave
      (loop $go-on
        (block $second
          (block $first
            (br_table $first $second (local.get 0)))
          (local.set 0 (i32.const 2))
          (br $go-on))
        (br $leave))
      unreachable)
    (i32.add (local.get 0)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (i32.ne (call $behind (i32.const 0)) (i32.const 1)) (then unreachable))
    (if (i32.ne (call $behind (i32.const 7)) (i32.const 7)) (then unreachable))
    (if (i32.ne (call $before (i32.const 0)) (i32.const 22)) (then unreachable))
    (if (i32.ne (call $below (i32.const 0)) (i32.const 42)) (then unreachable))
    (i32.const 1024))
  (@provider))
