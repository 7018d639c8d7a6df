;; Its get-mapping takes addresses of 64 bits.
;;
;; list: 21
;; refused: SignatureError: husk:provider/provider@0.2.0#get-mapping has the type (i64) -> (i64) in the module, but must have (i32, i32, i32, i32) -> (i32)
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping") (param i64) (result i64) unreachable)
  (@provider))
