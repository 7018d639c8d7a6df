;; Its memory has another name, so that the host would have none to read.
;;
;; list: 21
;; refused: the module does not export its memory under the name memory
(module
  (func (export "memory"))
  (memory (export "ram") 2)
  (@provider))
