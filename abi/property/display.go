package property

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of Display: about a line of a terminal.
const (
	// displayText is the number of characters shown of a text.
	displayText = 64
	// displayElements is the number of elements or properties shown of an array or object.
	displayElements = 8
	// displaySize is the length in bytes after which no further element begins.
	displaySize = 256
)

// Display renders v on one line for people. Secrets are [secret], and unknowns [unknown]. Long texts
// and containers are cut short, terminal controls escaped, and properties sorted.
func Display(v Value) string { return string(brief.value(nil, v)) }

// Render is Display without cuts: values of the same text differ at most in secret or unknown parts. A text is rendered as
// strconv.Unquote reads it.
func Render(v Value) string { return string(whole.value(nil, v)) }

// String is Display, so that fmt does not show secrets either.
func (v Value) String() string { return Display(v) }

// String is Display of an object.
func (m Map) String() string { return Display(Object(m)) }

// rendering says how much of a value is shown.
type rendering bool

const (
	brief rendering = false
	whole rendering = true
)

func (r rendering) value(dst []byte, v Value) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.num != 0)
	case KindNumber:
		return showNumber(dst, v.num)
	case KindString:
		return r.text(dst, v.str)
	case KindArray:
		return r.array(dst, v.elements())
	case KindObject:
		return r.object(dst, v.object())
	case KindAsset:
		return r.asset(dst, v.ref.(*Asset))
	case KindArchive:
		return r.archive(dst, v.ref.(*Archive))
	case KindResourceReference:
		return r.reference(dst, v.ref.(*ResourceReference))
	case KindUnknown:
		return append(dst, "[unknown]"...)
	case KindOutput:
		if o := v.ref.(*Output); !o.Secret {
			return r.value(dst, o.Value)
		}
	}
	return append(dst, "[secret]"...)
}

// showNumber renders a number as JavaScript does: a short one without an exponent.
func showNumber(dst []byte, f float64) []byte {
	format := byte('g')
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		format = 'f'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// text renders a text in quotes, cut short if it is long.
func (r rendering) text(dst []byte, s string) []byte {
	dst = append(dst, '"')
	shown := 0
	for i, c := range s {
		if shown == displayText && r == brief {
			dst = append(dst, `…" (`...)
			dst = strconv.AppendInt(dst, int64(len(s)), 10)
			return append(dst, " bytes)"...)
		}
		shown++
		if c == utf8.RuneError && r == whole && !strings.HasPrefix(s[i:], string(c)) {
			dst = append(dst, `\x`...)
			dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
			continue
		}
		dst = showCharacter(dst, c)
	}
	return append(dst, '"')
}

// showCharacter renders a character, escaped as in JSON.
func showCharacter(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case isControl(r):
		return appendUnicodeEscape(dst, r)
	default: // RuneError where the text is not valid UTF-8
		return utf8.AppendRune(dst, r)
	}
}

func (r rendering) array(dst []byte, elements []Value) []byte {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if r.isFull(dst, i) {
			dst = showMore(dst, len(elements)-i)
			break
		}
		dst = r.value(dst, e)
	}
	return append(dst, ']')
}

func (r rendering) object(dst []byte, m Map) []byte {
	dst = append(dst, '{')
	for i, key := range m.Keys() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if r.isFull(dst, i) {
			dst = showMore(dst, m.Len()-i)
			break
		}
		if isIdentifier(key) && len(key) <= displayText {
			dst = append(dst, key...)
		} else {
			dst = r.text(dst, key)
		}
		dst = append(dst, ": "...)
		dst = r.value(dst, m.Get(key))
	}
	return append(dst, '}')
}

// isFull reports whether the i-th element is left out.
func (r rendering) isFull(dst []byte, i int) bool {
	return r == brief && (i >= displayElements || len(dst) >= displaySize)
}

func showMore(dst []byte, n int) []byte {
	dst = append(dst, "… "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, " more"...)
}

// asset shows where the contents of an asset are and the beginning of their hash, because the same
// place may have different contents.
func (r rendering) asset(dst []byte, a *Asset) []byte {
	dst = append(dst, "asset("...)
	if contents, ok := a.Contents(); ok && a.Source != SourceNone {
		dst = r.text(dst, contents)
	}
	return r.hash(dst, a.Source, a.Hash)
}

func (r rendering) archive(dst []byte, a *Archive) []byte {
	dst = append(dst, "archive("...)
	if contents, ok := a.Contents(); ok && a.Source != SourceNone {
		dst = r.text(dst, contents)
	} else if a.Source == SourceAssets {
		dst = r.object(dst, a.Assets)
	}
	return r.hash(dst, a.Source, a.Hash)
}

// displayHash is the number of characters that are shown of a hash.
const displayHash = 8

// hash ends what asset or archive began.
func (r rendering) hash(dst []byte, s AssetSource, hash string) []byte {
	if hash != "" && s != SourceNone {
		dst = append(dst, ' ')
	}
	for i, c := range hash {
		if i >= displayHash && r == brief {
			break
		}
		dst = showCharacter(dst, c)
	}
	return append(dst, ')')
}

// reference renders the URN of a resource. The whole rendering has the rest, too.
func (r rendering) reference(dst []byte, v *ResourceReference) []byte {
	dst = r.text(append(dst, "resource("...), v.URN)
	switch {
	case r != whole || !v.HasID:
	case v.ID == "": // in a preview, the ID of an object that does not exist yet
		dst = append(dst, " id [unknown]"...)
	default:
		dst = r.text(append(dst, " id "...), v.ID)
	}
	if r == whole && v.PackageVersion != "" {
		dst = r.text(append(dst, " version "...), v.PackageVersion)
	}
	return append(dst, ')')
}
