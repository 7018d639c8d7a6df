;; A memory of all 65,536 pages that there can be.
;;
;; list: 14
;; refused: MemoryError: the module needs 4096 MiB of memory to start, the limit is 4 MiB
(module
  (memory (export "memory") 65536 65536)
  (@provider))
