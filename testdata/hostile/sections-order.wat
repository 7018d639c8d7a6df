;; Sections in the wrong order: imports after functions.
;;
;; list: 19
;; refused: FormatError: the module is malformed: a section is not in its place, or there twice
(module binary "\00asm\01\00\00\00"
  "\03\01\00" "\02\01\00")
