;; Code that calls a function that there is not. After metering there would be one of
;; that number.
;;
;; list: 19
;; refused: FormatError: the module is malformed: there is no function 65535
(module
  (func (call 0xffff))
  (@provider))
