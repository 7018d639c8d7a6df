;; It imports the function by which metering asks for fuel, to give itself some.
;;
;; list: 21
;; refused: ReservedError: the module uses the name "husk:meter", which is reserved for the host
(module
  (import "husk:meter" "refill" (func (param i64) (result i64)))
  (@provider))
