;; 10,000 local variables and 2,501 blocks: each variable may have another value behind each
;; block, which takes a compiler minutes, within one function.
;;
;; list: 20
;; refused: LimitError: the module has 25010000 branches times variables in one function, the limit is 25000000
(module
  (func (local (@repeat 10000 i32)) (@repeat 2501 block end))
  (@provider))
