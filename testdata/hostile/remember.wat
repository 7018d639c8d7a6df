;; It answers the key of the call before. Calls of one configuration may see each
;; other; see TestConfigurationsShareNothing for others.
;;
;; list: 16, 40
;; get-mapping: answers "nothing"
;; get-mapping: answers "terraform"
(module
  (data (i32.const 1024) "\00\00\00\00" "\00\08\00\00" "\07\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 2048) "nothing")
  (global $next (mut i32) (i32.const 2048))
  (global $length (mut i32) (i32.const 7))
  (func (export "husk:provider/provider@0.2.0#get-mapping")
      (param $key i32) (param $size i32) (param i32 i32) (result i32)
    (i32.store (i32.const 1028) (global.get $next))
    (i32.store (i32.const 1032) (global.get $length))
    ;; The next answer is in the other half of the page.
    (global.set $next (i32.xor (global.get $next) (i32.const 0x1000)))
    (memory.copy (global.get $next) (local.get $key) (local.get $size))
    (global.set $length (local.get $size))
    (i32.const 1024))
  (@provider))
