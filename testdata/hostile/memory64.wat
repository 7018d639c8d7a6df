;; A memory with addresses of 64 bits, which checks of 32 bits do not hold in.
;;
;; list: 14, 19
;; refused: UnsupportedError: the module uses memories or tables of 64 bits (the WebAssembly proposal memory64), which is not supported: build it for wasm32, and not for wasm64
(module binary "\00asm\01\00\00\00"
  "\05" (@sized "\01\04\01"))
