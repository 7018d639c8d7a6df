package httpask

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEscapes is how often a path may be escaped. Gateways that hand a request on unescape it
// once each.
const maxEscapes = 4

var (
	errDotSegment = errors.New("the path has a dot segment in it, or one that some server takes for it")
	errControl    = errors.New("the path has a control character in it")
	errNotUTF8    = errors.New("the path is not UTF-8 once it is unescaped")
	errEscapes    = errors.New("the path is escaped too often")
)

// Segments splits a path as it is written in a URL, and unescapes each segment once.
// Servers do not agree on what a path means whose dot segments are disguised: escaped several
// times, with parameters or spaces behind them, or in characters that are made to ASCII. So they
// are refused in each of these forms.
func Segments(escaped string) ([]string, error) {
	segments := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		if err != nil {
			return nil, err
		}
		if err := checkSegment(text); err != nil {
			return nil, err
		}
		segments[i] = text
	}
	return segments, nil
}

// checkSegment refuses a segment that means something else once it is unescaped again.
func checkSegment(text string) error {
	for range maxEscapes {
		text = asciiOf.Replace(text)
		if err := checkReading(text); err != nil {
			return err
		}
		again := unescape(text)
		if again == text {
			return nil
		}
		text = again
	}
	return errEscapes
}

// checkReading refuses one reading of a segment.
func checkReading(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errNotUTF8
	case strings.ContainsFunc(text, unicode.IsControl):
		return errControl
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		// What is behind these is a parameter, a query, or a fragment for some.
		name, _, _ := strings.Cut(part, ";")
		name, _, _ = strings.Cut(name, "?")
		name, _, _ = strings.Cut(name, "#")
		// Some file systems drop dots and spaces at the end of a name.
		if strings.Contains(name, ".") && strings.Trim(strings.Map(shown, name), ". ") == "" {
			return errDotSegment
		}
	}
	return nil
}

// shown leaves out characters that are not seen, because some servers drop them, and makes one
// character of all spaces.
func shown(r rune) rune {
	switch {
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// asciiOf makes ASCII of the characters that some servers take for dots, slashes, percent signs, and
// what ends a path, as compatibility forms (NFKC) or when they convert to an old encoding.
var asciiOf = strings.NewReplacer(
	"\uff0e", ".", "\ufe52", ".", "\u2024", ".", "\u2025", "..", "\u2026", "...", "\u3002", ".", "\uff61", ".",
	"\uff0f", "/", "\u2044", "/", "\u2215", "/", "\u29f8", "/", "\u1735", "/",
	"\uff3c", `\`, "\ufe68", `\`, "\u2216", `\`, "\u29f5", `\`, "\u29f9", `\`, "\u00a5", `\`, "\u20a9", `\`,
	"\uff05", "%", "\ufe6a", "%",
	"\uff1b", ";", "\ufe54", ";", "\u037e", ";", "\uff1f", "?", "\ufe56", "?", "\uff03", "#", "\ufe5f", "#",
)

// unescape unescapes what is an escape, %2e or %u002e, and leaves all else alone.
func unescape(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		size, digits := 3, 1
		if strings.HasPrefix(text[at:], "%u") || strings.HasPrefix(text[at:], "%U") {
			size, digits = 6, 2
		}
		r, ok := rune(0), text[at] == '%' && at+size <= len(text)
		for _, digit := range []byte(text[min(at+digits, len(text)):min(at+size, len(text))]) {
			value, hex := hexOf(digit)
			r, ok = r<<4|rune(value), ok && hex
		}
		switch {
		case !ok:
			b.WriteByte(text[at])
			at++
			continue
		case size == 3:
			b.WriteByte(byte(r))
		default:
			b.WriteRune(r)
		}
		at += size
	}
	return b.String()
}

func hexOf(digit byte) (value byte, ok bool) {
	switch {
	case '0' <= digit && digit <= '9':
		return digit - '0', true
	case 'a' <= digit|0x20 && digit|0x20 <= 'f':
		return digit | 0x20 - 'a' + 10, true
	}
	return 0, false
}
