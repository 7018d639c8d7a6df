;; An error whose text forges lines, a title, and a right-to-left text, and which says
;; to come from the host.
;;
;; list: 30
;; get-mapping: internal (guest): \x1b[2J\r\u202eforged\x1b]52;c;Zm9v\a
(module
  (data (i32.const 1024) "\01\00\00\00" "\07\01\00\00" "\00\08\00\00" "\1a\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 2048) "\1b[2J\0d\u{202e}forged\1b]52;c;Zm9v\07")
  (func (export "husk:provider/provider@0.2.0#get-mapping") (type $get-mapping)
    (i32.const 1024))
  (@provider))
