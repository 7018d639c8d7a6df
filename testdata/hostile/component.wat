;; A component of the component model, in which a module may be.
;;
;; list: 19
;; refused: a WebAssembly component, not a core module: build it with husk provider build or for wasm32-wasip1, as wasm32-wasip2, jco, and componentize-py make components
(module binary "\00asm\0d\00\01\00")
