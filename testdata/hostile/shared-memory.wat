;; A memory that is shared between threads.
;;
;; list: 19
;; refused: UnsupportedError: the module uses threads (the WebAssembly proposal threads), which is not supported: build it for one thread: without -pthread and -matomics (clang), with -C target-feature=-atomics (Rust)
(module binary "\00asm\01\00\00\00"
  "\05" (@sized "\01\03\01\02"))
