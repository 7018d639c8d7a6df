;; _initialize never ends.
;;
;; list: 7
;; fuel: 1,000,000
;; endless: start
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func (export "_initialize") (loop $forever (br $forever)))
  (@provider))
