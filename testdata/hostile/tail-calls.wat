;; Two functions that call each other in place of returning, so that the stack never
;; grows. Tail calls are not part of WebAssembly 2.0.
;;
;; list: 5
;; refused: UnsupportedError: the module uses tail calls (the WebAssembly proposal tail-call), which is not supported: build it with -mno-tail-call (clang, Emscripten) or -C target-feature=-tail-call (Rust)
(module
  (func $a (return_call $b))
  (func $b (return_call $a))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $a)
    unreachable)
  (@provider))
