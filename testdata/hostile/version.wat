;; A module of a later version of WebAssembly.
;;
;; list: 19
;; refused: a WebAssembly module of an unknown version of the binary format
(module binary "\00asm\02\00\00\00")
