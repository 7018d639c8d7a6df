package display

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Escape makes text safe to show on one line: control characters, among them
// line ends and the escape that begins terminal commands, and those that reorder
// text are written as Go escapes.
func Escape(text string) string {
	if strings.IndexFunc(text, unsafe) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// EscapeLines is Escape for text that may have several lines. Tabs stay, since
// carets below a line of a file are aligned with them.
func EscapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		for j, part := range parts {
			parts[j] = Escape(part)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// EscapeJSON makes JSON safe to show: what JSON lets stand in strings as it is, and a
// terminal acts on or reorders text by, or a service takes for a command, is written as
// JSON's own escapes.
func EscapeJSON(text []byte) []byte {
	text = defuseJSON(text)
	hidden := func(r rune) bool { return r >= 0x7f && unsafe(r) }
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

func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
