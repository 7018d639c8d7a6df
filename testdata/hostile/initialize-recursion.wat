;; _initialize calls itself without end.
;;
;; list: 7, 13
;; fuel: 10,000,000,000
;; get-mapping: crashed: the provider crashed: stack overflow
(module
  (func $initialize (export "_initialize") (call $initialize))
  (@provider))
