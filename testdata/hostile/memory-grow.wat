;; It takes all the memory that it gets, page by page, and looks whether that is what
;; the host allows: 64 pages.
;;
;; list: 11
;; pages: 64
;; get-mapping: answers ""
;; get-mapping: answers ""
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (if (i32.ne (memory.size) (i32.const 64)) (then unreachable))
    ;; What lies beyond cannot be asked for in one go either, or by a number that wraps around.
    (if (i32.ne (memory.grow (i32.const 0x10000)) (i32.const -1)) (then unreachable))
    (if (i32.ne (memory.grow (i32.const -64)) (i32.const -1)) (then unreachable))
    (i32.const 1024))
  (@provider))
