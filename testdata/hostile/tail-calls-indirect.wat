;; The same through a table.
;;
;; list: 5
;; refused: UnsupportedError: the module uses tail calls (the WebAssembly proposal tail-call), which is not supported: build it with -mno-tail-call (clang, Emscripten) or -C target-feature=-tail-call (Rust)
(module
  (table funcref (elem $a))
  (func $a (return_call_indirect (i32.const 0)))
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (call $a)
    unreachable)
  (@provider))
