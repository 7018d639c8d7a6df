;; Types of structures, whose memory the host would have to count.
;;
;; list: 19
;; refused: UnsupportedError: the module uses garbage collection, which is not supported: build it for WebAssembly 2.0 without extensions
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\5f\00"))
