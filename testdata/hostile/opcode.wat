;; An instruction that there is not.
;;
;; list: 19
;; refused: UnsupportedError: the module uses the unknown opcode 0x27, which is not supported: build it for WebAssembly 2.0 without extensions
(module
  (func (@bytes "\27"))
  (@provider))
