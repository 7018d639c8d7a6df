;; It grows a table without a maximum by 2³⁰ elements, of null and of a function, and
;; then step by step to the limit of one million.
;;
;; list: 12
;; get-mapping: answers ""
(module
  (table $t 0 funcref)
  (func $f)
  (elem declare func $f)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (if (i32.ne (table.grow (ref.null func) (i32.const 0x40000000)) (i32.const -1)) (then unreachable))
    (if (i32.ne (table.grow (ref.func $f) (i32.const 0x40000000)) (i32.const -1)) (then unreachable))
    (if (i32.ne (table.grow (ref.func $f) (i32.const -1)) (i32.const -1)) (then unreachable))
    (loop $more (br_if $more (i32.ne (table.grow (ref.func $f) (i32.const 50000)) (i32.const -1))))
    (if (i32.gt_u (table.size) (i32.const 1000000)) (then unreachable))
    (i32.const 1024))
  (@provider))
