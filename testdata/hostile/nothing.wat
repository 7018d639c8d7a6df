;; A valid module with nothing in it.
;;
;; list: 19, 21
;; refused: the module is not a provider: it exports no interface husk:provider/provider (nor is it a policy pack or a program)
(module)
