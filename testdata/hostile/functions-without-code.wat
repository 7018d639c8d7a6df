;; Functions that have no code.
;;
;; list: 19
;; refused: FormatError: the module is malformed: functions without code
(module binary "\00asm\01\00\00\00"
  "\01" (@sized "\01\60\00\00")
  "\03" (@sized "\01\00"))
