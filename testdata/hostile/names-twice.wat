;; Two name sections.
;;
;; list: 20
;; refused: FormatError: the module is malformed: a second name section
(module
  (@custom "name" "\01\01\00")
  (@custom "name" "\01\01\00")
  (@provider))
