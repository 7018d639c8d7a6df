;; Each instruction fills all of a memory of four mebibytes, for ever: much work for
;; little code.
;;
;; list: 4
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (memory (export "memory") 64)
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (memory.fill (i32.const 0) (i32.const 7) (i32.const 0x400000))
      (br $forever))
    unreachable)
  (@provider))
