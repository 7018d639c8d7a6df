package property

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// What Display shows: about a line of a terminal.
const (
	// displayText is the number of characters that are shown of a text.
	displayText = 64
	// displayElements is the number of elements and properties that are shown of an
	// array or object.
	displayElements = 8
	// displaySize is the length, in bytes, after which nothing more is begun.
	displaySize = 256
)

// Display renders v on one line for people. Secrets are shown as [secret], what is
// not known as [unknown]; long texts and containers are cut short; what would
// control a terminal is escaped. Properties are in alphabetical order.
func Display(v Value) string { return string(showValue(nil, v)) }

// String is Display, so that fmt does not show secrets either.
func (v Value) String() string { return Display(v) }

// String is Display of an object.
func (m Map) String() string { return Display(Object(m)) }

func showValue(dst []byte, v Value) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.num != 0)
	case KindNumber:
		return showNumber(dst, v.num)
	case KindString:
		return showText(dst, v.str)
	case KindArray:
		return showArray(dst, v.elements())
	case KindObject:
		return showObject(dst, v.object())
	case KindAsset:
		return showAsset(dst, v.ref.(*Asset))
	case KindArchive:
		return showArchive(dst, v.ref.(*Archive))
	case KindResourceReference:
		return showCall(dst, "resource", v.ref.(*ResourceReference).URN)
	case KindUnknown:
		return append(dst, "[unknown]"...)
	case KindOutput:
		if o := v.ref.(*Output); !o.Secret {
			return showValue(dst, o.Value)
		}
	}
	return append(dst, "[secret]"...)
}

// showNumber shows a number as JavaScript does: without an exponent while it is short.
func showNumber(dst []byte, f float64) []byte {
	format := byte('g')
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		format = 'f'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// showText shows a text in quotes, its first characters if it is long.
func showText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	shown := 0
	for i, r := range s {
		if shown == displayText {
			dst = append(dst, `…" (`...)
			dst = strconv.AppendInt(dst, int64(len(s)), 10)
			return append(dst, " bytes)"...)
		}
		shown++
		dst = showCharacter(dst, s[i:], r)
	}
	return append(dst, '"')
}

// showCharacter shows the character r that s starts with, escaped as in JSON.
func showCharacter(dst []byte, s string, r rune) []byte {
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
	default: // RuneError where s is not valid UTF-8
		return utf8.AppendRune(dst, r)
	}
}

func showArray(dst []byte, elements []Value) []byte {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if isFull(dst, i) {
			dst = showMore(dst, len(elements)-i)
			break
		}
		dst = showValue(dst, e)
	}
	return append(dst, ']')
}

func showObject(dst []byte, m Map) []byte {
	dst = append(dst, '{')
	for i, key := range m.Keys() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if isFull(dst, i) {
			dst = showMore(dst, m.Len()-i)
			break
		}
		if isIdentifier(key) && len(key) <= displayText {
			dst = append(dst, key...)
		} else {
			dst = showText(dst, key)
		}
		dst = append(dst, ": "...)
		dst = showValue(dst, m.Get(key))
	}
	return append(dst, '}')
}

// isFull reports whether the i-th element is no longer shown.
func isFull(dst []byte, i int) bool {
	return i >= displayElements || len(dst) >= displaySize
}

func showMore(dst []byte, n int) []byte {
	dst = append(dst, "… "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, " more"...)
}

// showAsset shows where the contents of an asset are and, as this may be the same for
// two that differ, the beginning of their hash.
func showAsset(dst []byte, a *Asset) []byte {
	dst = append(dst, "asset("...)
	switch a.Source {
	case SourceText:
		dst = showText(dst, a.Text)
	case SourcePath:
		dst = showText(dst, a.Path)
	case SourceURI:
		dst = showText(dst, a.URI)
	}
	return showHash(dst, a.Source, a.Hash)
}

func showArchive(dst []byte, a *Archive) []byte {
	dst = append(dst, "archive("...)
	switch a.Source {
	case SourceAssets:
		dst = showObject(dst, a.Assets)
	case SourcePath:
		dst = showText(dst, a.Path)
	case SourceURI:
		dst = showText(dst, a.URI)
	}
	return showHash(dst, a.Source, a.Hash)
}

// displayHash is the number of characters that are shown of a hash.
const displayHash = 8

// showHash ends what showAsset or showArchive began.
func showHash(dst []byte, s AssetSource, hash string) []byte {
	if hash != "" && s != SourceNone {
		dst = append(dst, ' ')
	}
	for i, r := range hash {
		if i >= displayHash {
			break
		}
		dst = showCharacter(dst, hash[i:], r)
	}
	return append(dst, ')')
}

// showCall shows what names a value that is no text itself.
func showCall(dst []byte, kind, name string) []byte {
	dst = append(dst, kind...)
	dst = append(dst, '(')
	return append(showText(dst, name), ')')
}
