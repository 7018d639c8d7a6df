;; A section whose contents go on after its end, so that the rest could pass for
;; another section.
;;
;; list: 19
;; refused: FormatError: the module is malformed: a section goes on after its end
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\00\00\00"))
