;; Exceptions, with which code could catch its own end.
;;
;; list: 19
;; refused: UnsupportedError: the module uses exceptions, which is not supported: build it for WebAssembly 2.0 without extensions
(module
  (func (@bytes "\06\40\0b"))
  (@provider))
