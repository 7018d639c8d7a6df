//go:build !wasm

package property

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// EqualText is a == b, at full speed in guests too.
func EqualText(a, b string) bool { return a == b }

// CompareText orders texts as strings.Compare does. The result is below, equal to, or above 0.
func CompareText(a, b string) int { return strings.Compare(a, b) }

// IndexText returns the index of the first of n texts that equals text, or -1. The texts are stride
// bytes apart, as in a slice of structs.
func IndexText(first *string, stride uintptr, n int, text string) int {
	for i := range n {
		if *(*string)(unsafe.Add(unsafe.Pointer(first), uintptr(i)*stride)) == text {
			return i
		}
	}
	return -1
}

// seekKey is SeekKey.
func seekKey(entries []Entry, from int, key string) int {
	for ; from < len(entries); from++ {
		switch order := CompareKeys(entries[from].Key, key); {
		case order == 0:
			return from
		case order > 0:
			return -1 - from
		}
	}
	return -1 - from
}

// ValidText is utf8.ValidString for 32 bytes of ASCII at a time, in place of eight.
func ValidText(s string) bool {
	n := len(s)
	if n < 8 {
		for i := range n {
			if s[i] >= utf8.RuneSelf {
				return utf8.ValidString(s)
			}
		}
		return true
	}
	seen := word(s) | word(s[n-8:])
	switch {
	case n > 32:
		for t := s; len(t) > 32 && seen&notASCII == 0; t = t[32:] {
			seen |= word(t) | word(t[8:]) | word(t[16:]) | word(t[24:])
		}
		last := s[n-32:] // some of them were seen
		seen |= word(last) | word(last[8:]) | word(last[16:])
	case n > 16:
		seen |= word(s[8:]) | word(s[n-16:])
	}
	return seen&notASCII == 0 || utf8.ValidString(s)
}

const notASCII = 0x8080808080808080

// word is the first eight bytes of a text, in one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
