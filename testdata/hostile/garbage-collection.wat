;; Types of structures, whose memory the host would have to count.
;;
;; list: 19
;; refused: UnsupportedError: the module uses garbage collection (the WebAssembly proposal gc), which is not supported: its compiler relies on the engine's garbage collector, like the compilers of Kotlin, Dart, and OCaml: write it in a language that manages its memory itself, such as Go, Rust, C, or Zig
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\5f\00"))
