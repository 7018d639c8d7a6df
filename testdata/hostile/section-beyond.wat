;; A section that says it is longer than the file.
;;
;; list: 19
;; refused: the module is cut off
(module binary "\00asm\01\00\00\00"
  "\01" (@leb 4294967295) "\01")
