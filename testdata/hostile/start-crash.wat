;; The start function crashes.
;;
;; list: 7, 15
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: crashed: the provider crashed: unreachable
(module
  (func $start unreachable)
  (start $start)
  (@provider))
