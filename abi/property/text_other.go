//go:build !wasm

package property

import (
	"strings"
	"unicode/utf8"
)

// EqualText is a == b, at full speed in guests too.
func EqualText(a, b string) bool { return a == b }

// CompareText orders texts as strings.Compare does; its answer is any number less than,
// equal to, or greater than 0.
func CompareText(a, b string) int { return strings.Compare(a, b) }

// ValidText is utf8.ValidString, at full speed in guests too.
func ValidText(s string) bool { return utf8.ValidString(s) }
