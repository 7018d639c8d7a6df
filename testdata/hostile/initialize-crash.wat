;; _initialize crashes.
;;
;; list: 7, 15
;; get-mapping: crashed: the provider crashed: unreachable
;; get-mapping: crashed: the provider crashed: unreachable
(module
  (func (export "_initialize") unreachable)
  (@provider))
