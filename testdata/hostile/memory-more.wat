;; A memory of more pages than there can be.
;;
;; list: 14, 19
;; refused: FormatError: the module is malformed: a memory of more than 4 GiB
(module
  (memory (export "memory") 65537)
  (@provider))
