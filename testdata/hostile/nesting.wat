;; 100,000 blocks inside of each other, on which readers and compilers that recurse run
;; out of stack.
;;
;; list: 20
;; refused: LimitError: the module has 30001 blocks inside of each other, the limit is 30000
(module
  (func (@repeat 100000 block) (@repeat 100000 end))
  (@provider))
