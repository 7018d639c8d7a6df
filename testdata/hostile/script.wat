;; A shell script.
;;
;; list: 19
;; refused: not a WebAssembly module
(module binary "#!/bin/sh\n" "rm -rf /\n")
