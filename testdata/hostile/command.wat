;; A program with a main function, which would run once and not answer.
;;
;; list: 21
;; refused: the module is a command, not a provider: build it with `husk provider build`, or with -buildmode=c-shared
(module
  (func (export "_start"))
  (@provider))
