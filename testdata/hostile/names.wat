;; A name section of ten megabytes: 1,250,000 names of functions for stack traces that
;; nobody will see.
;;
;; list: 20
;; refused: LimitError: the module has 1250000 names, the limit is 1000000
(module
  (@custom "name" "\01" (@sized (@leb 1250000) (@repeat 1250000 "\00\01\61")))
  (@provider))
