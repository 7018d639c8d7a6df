;; A memory that is larger from the beginning than an instance may have.
;;
;; list: 14
;; pages: 64
;; refused: MemoryError: the module needs 5 MiB of memory to start, the limit is 4 MiB
(module
  (memory (export "memory") 65)
  (@provider))
