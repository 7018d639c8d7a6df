;; Two exports of the same name, of which a careless reader checks the other one.
;;
;; list: 20, 21
;; refused: the module is invalid: section export: export[56] duplicates name "cabi_realloc"
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  (func $other (param i32 i32 i32 i32) (result i32) unreachable)
  (export "cabi_realloc" (func $other))
  (@provider))
