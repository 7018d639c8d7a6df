;; It says to be a provider and a policy pack at once.
;;
;; list: 21
;; refused: the module is two of provider, policy pack, and program at once: build two modules
(module
  (func (export "husk:policy/policy@0.1.0#analyze") (param i32) (result i32) unreachable)
  (@provider))
