;; It takes all the memory that it gets, and crashes for want of more. The error names
;; the limit.
;;
;; list: 11
;; pages: 64
;; get-mapping: crashed: exceeds memory
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    unreachable)
  (@provider))
