;; The start function never ends: it runs before anything of the module can be called.
;;
;; list: 7
;; fuel: 1,000,000
;; endless: start
;; get-mapping: crashed (policy): exceeds fuel
(module
  (func $start (loop $forever (br $forever)))
  (start $start)
  (@provider))
