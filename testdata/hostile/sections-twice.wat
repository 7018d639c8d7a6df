;; Two sections of types. Who reads the first only, and who reads both, see different
;; modules.
;;
;; list: 19, 20
;; refused: FormatError: the module is malformed: a section is not in its place, or there twice
(module binary "\00asm\01\00\00\00"
  "\01\01\00" "\01\01\00")
