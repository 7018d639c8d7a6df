;; It crashes in the middle of create. Whether there is a resource now is not known,
;; and the error must not pass for one that has had no effect.
;;
;; list: 44
;; create: crashed: the provider crashed: unreachable
(module
  (func (export "husk:provider/provider@0.2.0#create") (type $create) unreachable)
  (@provider))
