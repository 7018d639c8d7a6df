;; Two memories, one of which the host does not look at.
;;
;; list: 14, 20
;; refused: LimitError: the module has 2 memories, the limit is 1
(module
  (memory (export "memory") 1)
  (memory 1)
  (@provider))
