package property

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Go compares and checks texts byte by byte in WebAssembly, which takes ten times as long as
// by eight, and compares them with several calls. Memory can be read at any alignment there.

// EqualText is a == b, at full speed in guests too.
func EqualText(a, b string) bool { return len(a) == len(b) && CompareText(a, b) == 0 }

// CompareText orders texts as strings.Compare does; its answer is any number less than,
// equal to, or greater than 0.
func CompareText(a, b string) int {
	p, q := unsafe.Pointer(unsafe.StringData(a)), unsafe.Pointer(unsafe.StringData(b))
	n := min(len(a), len(b))
	i := 0
	if p == q {
		i = n
	}
	for ; n-i >= 8; i += 8 {
		x, y := *(*uint64)(unsafe.Add(p, i)), *(*uint64)(unsafe.Add(q, i))
		if x != y {
			if bits.ReverseBytes64(x) < bits.ReverseBytes64(y) {
				return -1
			}
			return 1
		}
	}
	for ; i < n; i++ {
		if x, y := *(*byte)(unsafe.Add(p, i)), *(*byte)(unsafe.Add(q, i)); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// ValidText is utf8.ValidString.
func ValidText(s string) bool {
	p := unsafe.Pointer(unsafe.StringData(s))
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		if *(*uint64)(unsafe.Add(p, i))&0x8080808080808080 != 0 {
			return utf8.ValidString(s[i:])
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return utf8.ValidString(s[i:])
		}
	}
	return true
}
