;; Atomic instructions, with which one instance could disturb another.
;;
;; list: 19
;; refused: UnsupportedError: the module uses threads, which is not supported: build it for WebAssembly 2.0 without extensions
(module
  (func (@bytes "\fe\03\00"))
  (@provider))
