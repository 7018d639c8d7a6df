;; _initialize calls itself without end.
;;
;; list: 7, 13
;; fuel: 10,000,000,000
;; get-mapping: crashed: exceeds stack
(module
  (func $initialize (export "_initialize") (call $initialize))
  (@provider))
