// Package printable makes text of strangers, such as providers and services, safe to print.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the text in a form that is safe to print: control characters other than line
// break and tab, and those that reorder text, are written as escapes, and what is not
// UTF-8 is replaced. A terminal or log then shows what the guest said and does
// nothing that it asked for.
func Text(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		if unsafeRune(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Line is [Text] for names and other text that has one line.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", `\n`) }

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
		return true
	}
	return r == '\u2028' || r == '\u2029'
}
