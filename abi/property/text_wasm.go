package property

import "unicode/utf8"

// Go compares and checks texts byte by byte in WebAssembly, with several calls, and makes a
// jump through a table of each branch of a loop. The functions of text_wasm.s take eight
// bytes at a time: memory can be read at any alignment there.

// EqualText is a == b, at full speed in guests too.
func EqualText(a, b string) bool { return len(a) == len(b) && equalText(a, b) }

// equalText is EqualText for texts of one length.
//
//go:noescape
func equalText(a, b string) bool

// CompareText orders texts as strings.Compare does. The result is any number below, equal to, or
// above 0.
//
//go:noescape
func CompareText(a, b string) int

// ValidText is utf8.ValidString, at full speed in guests too.
func ValidText(s string) bool { return isASCII(s) || utf8.ValidString(s) }

// isASCII reports whether all bytes of s are less than utf8.RuneSelf.
//
//go:noescape
func isASCII(s string) bool

// IndexText returns the index of the first of n texts that equals text, or -1. The texts are stride
// bytes apart, as in a slice of structs.
//
//go:noescape
func IndexText(first *string, stride uintptr, n int, text string) int

// seekKey is SeekKey.
//
//go:noescape
func seekKey(entries []Entry, from int, key string) int
