;; A length in six bytes, of which a careless reader takes five.
;;
;; list: 19
;; refused: FormatError: the module is malformed: a number is too large
(module binary "\00asm\01\00\00\00"
  "\01" "\80\80\80\80\80\00")
