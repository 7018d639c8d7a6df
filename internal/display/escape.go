package display

import (
	"bytes"
	"fmt"

	"github.com/husk-dev/husk/internal/printable"
)

// Escape makes text safe to show on one line. Line ends, other control characters, and characters that
// reorder text become Go escapes.
func Escape(text string) string { return printable.Escape(text, printable.IsUnsafe) }

// EscapeLines is Escape for text of several lines. Tabs stay, because carets below a line of a file are
// aligned with them.
func EscapeLines(text string) string { return printable.Text(text) }

// EscapeJSON makes JSON safe to show. Characters that JSON allows in strings, and that control a terminal,
// reorder text, or are a command to a service, become escapes of JSON.
func EscapeJSON(text []byte) []byte {
	text = defuseJSON(text)
	hidden := func(r rune) bool { return r >= 0x7f && printable.IsUnsafe(r) }
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}
