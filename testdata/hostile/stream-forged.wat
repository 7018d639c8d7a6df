;; A stream whose every result lies outside of the memory.
;;
;; list: 17, 26
;; stream-invoke: internal: the provider's answer is not what the contract asks for: stream-next-response.result: the pointer and length lie outside of the memory
;; stream-invoke: internal: the provider's answer is not what the contract asks for: stream-next-response.result: the pointer and length lie outside of the memory
(module
  (data (i32.const 1024) "\00\00\00\00\00\00\00\00" "\07\00\00\00\00\00\00\00")
  (data (i32.const 2048) "\00\00\00\00" "\01\00\00\00" "\ff\ff\ff\7f" "\20\00\00\00")
  (func (export "husk:provider/provider@0.2.0#stream-invoke") (type $stream-invoke) (i32.const 1024))
  (func (export "husk:provider/provider@0.2.0#stream-next") (type $stream-next) (i32.const 2048))
  (@provider))
