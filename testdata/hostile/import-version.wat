;; It imports an interface of another version of the contract.
;;
;; list: 21
;; refused: VersionError: the module speaks version 9.9.9 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0
(module
  (import "husk:provider/log@9.9.9" "write" (func (type $log.write)))
  (@provider))
