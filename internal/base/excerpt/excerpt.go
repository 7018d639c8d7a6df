// Package excerpt shortens renderings of values, as property.Render makes them, to one line that shows where
// two of them differ.
package excerpt

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

const (
	// width is the number of characters of an excerpt. Two of them fit on a line.
	width = 64
	// before is the number of characters before the first one that differs.
	before = 16
)

// Of returns a rendering, or the beginning and the size of a long one.
func Of(rendering string) string {
	shown, _ := parse(shortHashes(rendering)).from(0)
	return shown
}

// Whole returns a rendering with its hashes shortened.
func Whole(rendering string) string { return shortHashes(rendering) }

// hash matches the hash of an asset or archive, and any quoted text, whose contents are not a hash.
var hash = lazyregexp.Regexp{Syntax: `"(?:[^"\\]|\\.)*"| [0-9a-f]{64}\)`}

func shortHashes(rendering string) string {
	return hash.Get().ReplaceAllStringFunc(rendering, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return found[:9] + ")"
	})
}

// Pair returns two renderings, or the first parts of long ones that differ. at counts from 1 to the first
// character that differs (of texts, without their quotes), and is 0 if both are whole or differ from the first one on.
func Pair(old, new string) (oldShown, newShown string, at int) {
	if shortOld, shortNew := shortHashes(old), shortHashes(new); shortOld != shortNew {
		old, new = shortOld, shortNew
	}
	a, b := parse(old), parse(new)
	same, offset := 0, 0
	for offset < len(a.text) && offset < len(b.text) {
		n := character(a.text[offset:])
		if !strings.HasPrefix(b.text[offset:], a.text[offset:offset+n]) || character(b.text[offset:]) != n {
			break
		}
		same, offset = same+1, offset+n
	}
	start := max(0, same-before)
	if start <= before/2 {
		start = 0 // too little to leave out
	}
	oldShown, wholeOld := a.from(start)
	newShown, wholeNew := b.from(start)
	switch {
	case wholeOld && wholeNew:
		return old, new, 0
	case same == 0:
		return oldShown, newShown, 0
	}
	return oldShown, newShown, same + 1
}

// Where returns a remark about the place that [Pair] returned, empty for 0.
func Where(at int) string {
	if at == 0 {
		return ""
	}
	return " (they differ from character " + strconv.Itoa(at) + " on)"
}

// literal is a parsed rendering.
type literal struct {
	// text is the rendering without quotes.
	text, quote string
	// size is the number of bytes of the text, or of another value's rendering.
	size int
}

func parse(rendering string) literal {
	if strings.HasPrefix(rendering, `"`) {
		if text, err := strconv.Unquote(rendering); err == nil {
			return literal{rendering[1 : len(rendering)-1], `"`, len(text)}
		}
	}
	return literal{rendering, "", len(rendering)}
}

// from returns width characters, beginning at a number. whole reports whether these are all.
func (r literal) from(start int) (shown string, whole bool) {
	begin := skip(r.text, start)
	end := begin + skip(r.text[begin:], width)
	if begin == 0 && end == len(r.text) {
		return r.quote + r.text + r.quote, true
	}
	shown = r.text[begin:end]
	if begin > 0 {
		shown = "…" + shown
	}
	if end < len(r.text) {
		shown += "…"
	}
	return r.quote + shown + r.quote + " (" + strconv.Itoa(r.size) + " bytes)", false
}

// skip returns the length of so many characters, or of all if there are fewer.
func skip(text string, characters int) (length int) {
	for range characters {
		if length == len(text) {
			break
		}
		length += character(text[length:])
	}
	return length
}

// character returns the length of the first character of a rendering, which may be an escape.
func character(text string) int {
	if text[0] == '\\' && len(text) > 1 {
		switch text[1] {
		case 'u':
			return min(len(`\u0000`), len(text))
		case 'x':
			return min(len(`\x00`), len(text))
		}
		return 2
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}
