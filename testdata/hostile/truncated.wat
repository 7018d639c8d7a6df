;; A module that ends in the middle of a section.
;;
;; list: 19
;; refused: the module is cut off
(module binary "\00asm\01\00\00\00" "\01\04\01\60")
