;; Two hundred functions of two hundred jumps each, which take a compiler some time
;; together.
(module
  (@repeat 200 (func (param i32) (result i32)
    (@repeat 200 (if (local.get 0) (then (local.set 0 (i32.mul (local.get 0) (local.get 0))))))
    (local.get 0)))
  (@provider))
