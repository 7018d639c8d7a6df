;; It has no get-schema; who asks later would find that out in the middle of a
;; deployment.
;;
;; list: 21
;; refused: SignatureError: the module does not export husk:provider/provider@0.2.0#get-schema
(module
  (export "husk:provider/provider@0.2.0#get-schema" (memory 0))
  (@provider))
