;; A provider that means well. It answers get-mapping with the key that was asked for.
(module
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $key i32) (param $length i32) (param i32 i32) (result i32)
    (i32.store (i32.const 1028) (local.get $key))
    (i32.store (i32.const 1032) (local.get $length))
    (i32.const 1024))
  (@provider))
