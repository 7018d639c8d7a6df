;; Exceptions, with which code could catch its own end.
;;
;; list: 19
;; refused: UnsupportedError: the module uses exceptions (the WebAssembly proposal exception-handling), which is not supported: build it with -fno-exceptions (clang, Emscripten) or -C panic=abort (Rust)
(module
  (func (@bytes "\06\40\0b"))
  (@provider))
