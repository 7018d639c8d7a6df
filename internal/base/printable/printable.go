// Package printable makes text of strangers, such as providers and services, safe to print.
package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// Text returns text that is safe to print. Control characters other than line end and tab, and characters
// that reorder text, become Go escapes. Bytes that are not UTF-8 are replaced.
func Text(s string) string {
	unsafe := func(r rune) bool { return r != '\n' && r != '\t' && IsUnsafe(r) }
	if strings.ContainsFunc(s, unsafe) {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return strings.ToValidUTF8(Escape(s, unsafe), "\uFFFD")
}

// Line is [Text] for names and other text of one line.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", `\n`) }

// IsUnsafe reports whether a character controls a terminal, ends a line, or reorders text.
func IsUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Escape returns text in which the characters that f selects are Go escapes.
func Escape(s string, f func(rune) bool) string {
	if !strings.ContainsFunc(s, f) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if f(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
