;; Atomic instructions, with which one instance could disturb another.
;;
;; list: 19
;; refused: UnsupportedError: the module uses threads (the WebAssembly proposal threads), which is not supported: build it for one thread: without -pthread and -matomics (clang), with -C target-feature=-atomics (Rust)
(module
  (func (@bytes "\fe\03\00"))
  (@provider))
