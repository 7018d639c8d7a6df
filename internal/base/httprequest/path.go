package httprequest

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEscapes bounds how often a path is escaped. Each gateway on the way may unescape it once.
const maxEscapes = 4

var (
	errDotSegment = errors.New("the path has a dot segment in it, or one that some server takes for it")
	errControl    = errors.New("the path has a control character in it")
	errNotUTF8    = errors.New("the path is not UTF-8 once it is unescaped")
	errEscapes    = errors.New("the path is escaped too often")
)

// Segments splits the path of a URL, and unescapes each segment once. It refuses disguised dot segments,
// which servers read differently: escaped several times, before parameters or spaces, or in characters
// that become ASCII.
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

// checkSegment refuses a segment that means something else when it is unescaped again.
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
		// Some servers take the rest for a parameter, a query, or a fragment.
		name, _, _ := strings.Cut(part, ";")
		name, _, _ = strings.Cut(name, "?")
		name, _, _ = strings.Cut(name, "#")
		// Some file systems drop dots and spaces at the end of a name.
		if strings.Contains(name, ".") && strings.Trim(strings.Map(visible, name), ". ") == "" {
			return errDotSegment
		}
	}
	return nil
}

// visible drops invisible characters, as some servers do, and makes one character of all spaces.
func visible(r rune) rune {
	switch {
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// asciiOf replaces characters that some servers read as dots, slashes, percent signs, or ends of a path,
// because of compatibility forms (NFKC) or conversion to an old encoding.
var asciiOf = strings.NewReplacer(
	"\uff0e", ".", "\ufe52", ".", "\u2024", ".", "\u2025", "..", "\u2026", "...", "\u3002", ".", "\uff61", ".",
	"\uff0f", "/", "\u2044", "/", "\u2215", "/", "\u29f8", "/", "\u1735", "/",
	"\uff3c", `\`, "\ufe68", `\`, "\u2216", `\`, "\u29f5", `\`, "\u29f9", `\`, "\u00a5", `\`, "\u20a9", `\`,
	"\uff05", "%", "\ufe6a", "%",
	"\uff1b", ";", "\ufe54", ";", "\u037e", ";", "\uff1f", "?", "\ufe56", "?", "\uff03", "#", "\ufe5f", "#",
)

// unescape replaces escapes such as %2e and %u002e.
func unescape(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		size, digits := 3, 1
		if strings.HasPrefix(text[at:], "%u") || strings.HasPrefix(text[at:], "%U") {
			size, digits = 6, 2
		}
		code, err := uint64(0), strconv.ErrSyntax
		if text[at] == '%' && at+size <= len(text) {
			code, err = strconv.ParseUint(text[at+digits:at+size], 16, 16)
		}
		switch {
		case err != nil:
			b.WriteByte(text[at])
			size = 1
		case size == 3:
			b.WriteByte(byte(code))
		default:
			b.WriteRune(rune(code))
		}
		at += size
	}
	return b.String()
}
