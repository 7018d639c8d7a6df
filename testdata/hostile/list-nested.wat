;; A list of 8,000 texts that all are the same 64 KiB: half a gigabyte in 128 KiB of
;; memory.
;;
;; list: 17, 28
;; get-mappings: internal: exceeds memory
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\10\00\00" "\40\1f\00\00")
  (data (i32.const 4096) (@repeat 8000 "\00\00\00\00" "\00\00\01\00"))
  (func (export "husk:provider/provider@0.2.0#get-mappings") (type $get-mappings) (i32.const 1024))
  (@provider))
