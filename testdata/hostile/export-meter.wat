;; It exports a global variable by the name of its fuel, so that the host would count
;; in the wrong one.
;;
;; list: 21
;; refused: ReservedError: the module uses the name "husk:meter/fuel", which is reserved for the host
(module
  (global (export "husk:meter/fuel") (mut i64) (i64.const 0x7fffffffffffffff))
  (@provider))
