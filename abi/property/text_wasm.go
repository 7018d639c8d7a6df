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

// CompareText orders texts as strings.Compare does; its answer is any number less than,
// equal to, or greater than 0.
//
//go:noescape
func CompareText(a, b string) int

// ValidText is utf8.ValidString, at full speed in guests too.
func ValidText(s string) bool { return isASCII(s) || utf8.ValidString(s) }

// isASCII reports whether all bytes of s are less than utf8.RuneSelf.
//
//go:noescape
func isASCII(s string) bool

// IndexText returns which of n texts, stride bytes apart as in a slice of structs, is the
// first that is text; -1 where none is.
//
//go:noescape
func IndexText(first *string, stride uintptr, n int, text string) int

// seekKey returns where the key is in the entries from a place on, or -1 less where it
// would be.
//
//go:noescape
func seekKey(entries []Entry, from int, key string) int
