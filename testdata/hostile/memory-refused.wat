;; It asks 10,000 times for more memory and more elements than there can be, which it never gets. What
;; it does not get costs it nothing but the asking. Then it fills memory from its beginning for so long
;; that it would have to pay more than it has, and traps.
;;
;; list: 4, 11, 12
;; fuel: 10,000,000
;; get-mapping: crashed: exceeds table-elements
;; get-mappings: crashed: exceeds table-elements
(module
  (table $t 10 funcref)
  (func $ask (local $times i32)
    (local.set $times (i32.const 10000))
    (loop $more
      (if (i32.ne (memory.grow (i32.const -1)) (i32.const -1)) (then unreachable))
      (if (i32.ne (table.grow (ref.null func) (i32.const -1)) (i32.const -1)) (then unreachable))
      (br_if $more (local.tee $times (i32.sub (local.get $times) (i32.const 1))))))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $ask)
    (memory.fill (i32.const 0) (i32.const 0) (i32.const -1))
    unreachable)
  (func (export "husk:provider/provider@0.2.0#get-mappings") (type $get-mappings)
    (call $ask)
    (table.fill (i32.const 0) (ref.null func) (i32.const -1))
    unreachable)
  (@provider))
