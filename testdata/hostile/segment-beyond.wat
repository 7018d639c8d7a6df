;; A data segment beyond the memory.
;;
;; list: 14, 17
;; get-mapping: crashed: the provider crashed: data[0]: out of bounds memory access
(module
  (data (i32.const 0x1fffe) "xyz")
  (@provider))
