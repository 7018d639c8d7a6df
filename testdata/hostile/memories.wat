;; Two memories, one of which the host does not look at.
;;
;; list: 14, 20
;; refused: UnsupportedError: the module uses more than one memory (the WebAssembly proposal multi-memory), which is not supported: build it with -mno-multimemory (clang, Emscripten), or put its memories into one with wasm-opt --multi-memory-lowering
(module
  (memory (export "memory") 1)
  (memory 1)
  (@provider))
