;; A file of no bytes.
;;
;; list: 19
;; refused: not a WebAssembly module
(module binary )
