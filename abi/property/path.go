package property

import (
	"slices"
	"strconv"
)

// Path locates a part of a value by the keys and indexes that lead to it. The empty path is the
// whole value. Secrets and outputs have no segment; assets and archives have no parts.
//
// A path with wildcards is a pattern: it locates nothing, but contains other paths.
type Path []Segment

// Segment is one step of a path: a key of an object, an index of an array, or the wildcard, which
// stands for any of these.
type Segment struct {
	kind  segmentKind
	index int
	key   string
}

type segmentKind uint8

const (
	segmentKey segmentKind = iota
	segmentIndex
	segmentWildcard
)

// Key returns the segment that leads to an object's property.
func Key(key string) Segment { return Segment{kind: segmentKey, key: key} }

// Index returns the segment that leads to an array's element, counted from 0.
func Index(i int) Segment { return Segment{kind: segmentIndex, index: i} }

// Wildcard returns the segment that stands for any one key or index.
func Wildcard() Segment { return Segment{kind: segmentWildcard} }

// Key returns the key that s holds.
func (s Segment) Key() (key string, ok bool) { return s.key, s.kind == segmentKey }

// Index returns the index that s holds.
func (s Segment) Index() (i int, ok bool) { return s.index, s.kind == segmentIndex }

// IsWildcard reports whether s is the wildcard.
func (s Segment) IsWildcard() bool { return s.kind == segmentWildcard }

// Append returns a copy of p with the segments at its end.
func (p Path) Append(segments ...Segment) Path { return slices.Concat(p, segments) }

// Equal reports whether p and q are the same path.
func (p Path) Equal(q Path) bool { return slices.Equal(p, q) }

// IsPattern reports whether p has a wildcard.
func (p Path) IsPattern() bool { return slices.ContainsFunc(p, Segment.IsWildcard) }

// Contains reports whether q locates what p does or a part of it: a.b contains a.b and a.b.c. A
// wildcard in p stands for any segment of q. The paths of ignoreChanges, replaceOnChanges, and
// hideDiffs have this meaning.
func (p Path) Contains(q Path) bool {
	return len(p) <= len(q) && p.Matches(q[:len(p)])
}

// Matches reports whether p and q are equal but for wildcards of p: a[*].c matches a[0].c.
func (p Path) Matches(q Path) bool {
	if len(p) != len(q) {
		return false
	}
	for i, s := range p {
		if s.kind != segmentWildcard && s != q[i] {
			return false
		}
	}
	return true
}

// String returns the canonical text of p, which ParsePath reads back:
// root.nested["a \"key\""][0].*
func (p Path) String() string {
	var dst []byte
	for i, s := range p {
		switch {
		case s.kind == segmentIndex:
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(s.index), 10)
			dst = append(dst, ']')
			continue
		case s.kind == segmentKey && !isIdentifier(s.key):
			dst = append(dst, `["`...)
			dst = appendQuotedKey(dst, s.key)
			dst = append(dst, `"]`...)
			continue
		}
		if i > 0 {
			dst = append(dst, '.')
		}
		if s.kind == segmentWildcard {
			dst = append(dst, '*')
		} else {
			dst = append(dst, s.key...)
		}
	}
	return string(dst)
}

// isIdentifier reports whether a key is written without quotes.
func isIdentifier(key string) bool {
	for i := range len(key) {
		c := key[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}

func appendQuotedKey(dst []byte, key string) []byte {
	if key == "*" {
		return append(dst, `\*`...) // "*" in quotes is the wildcard, as in Pulumi
	}
	for _, r := range key {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case isControl(r):
			dst = appendUnicodeEscape(dst, r)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return dst
}

// isControl reports whether a character could control a terminal: the C0 and C1 controls, the line
// and paragraph separators, and the bidirectional controls.
func isControl(r rune) bool {
	return r < 0x20 || 0x7f <= r && r < 0xa0 || r == 0x200e || r == 0x200f ||
		0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

func appendUnicodeEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

const hexDigits = "0123456789abcdef"
