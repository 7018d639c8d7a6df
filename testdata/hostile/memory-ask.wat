;; It asks for half of all memory that there can be, for ever, and never gets it.
;;
;; list: 4, 11
;; fuel: 1,000,000
;; endless: get-mapping
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (loop $forever
      (drop (memory.grow (i32.const 0x8000)))
      (br $forever))
    unreachable)
  (@provider))
