;; The name of an import forges a line of the log.
;;
;; list: 21, 30
;; refused: ImportError: the module imports "env\nlevel=ERROR" "\x1b]52;c;Zm9yZ2Vk\a\u202e", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only
(module
  (import "env\nlevel=ERROR" "\u{1b}]52;c;Zm9yZ2Vk\07\u{202e}" (func))
  (@provider))
