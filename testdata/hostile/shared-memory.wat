;; A memory that is shared between threads.
;;
;; list: 19
;; refused: UnsupportedError: the module uses threads, which is not supported: build it for WebAssembly 2.0 without extensions
(module binary "\00asm\01\00\00\00"
  "\05" (@sized "\01\03\01\02"))
