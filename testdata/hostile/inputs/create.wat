;; It answers create with the ID "id" and, as the state, the bytes that @input puts at 4096,
;; whose number is at 4092.
(module
  (data (i32.const 2048) "id")
  (@input)
  (func (export "husk:provider/provider@0.2.0#create") (type $create)
    (i32.store (i32.const 1028) (i32.const 2048))
    (i32.store (i32.const 1032) (i32.const 2))
    (i32.store (i32.const 1036) (i32.const 4096))
    (i32.store (i32.const 1040) (i32.load (i32.const 4092)))
    (i32.const 1024))
  (memory (export "memory") 64)
  (@provider))
