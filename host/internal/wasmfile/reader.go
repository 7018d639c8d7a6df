package wasmfile

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrTruncated is a module that ends in the middle of something.
var ErrTruncated = errors.New("the module is cut off")

// FormatError is a module that is malformed.
type FormatError struct {
	// Offset is where in the file, in bytes.
	Offset int
	What   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the module is malformed at offset %d: %s", e.Offset, e.What)
}

// reader reads the elements of the binary format. After the first failure, which err
// holds, all methods answer zero values.
type reader struct {
	data []byte
	// base is the offset of data in the file.
	base int
	at   int
	err  error
}

func (r *reader) left() int { return len(r.data) - r.at }

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = &FormatError{Offset: r.base + r.at, What: what}
	}
}

func (r *reader) byte() byte {
	if r.err == nil && r.left() == 0 {
		r.err = ErrTruncated
	}
	if r.err != nil {
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

// bytes answers a view of the next n bytes.
func (r *reader) bytes(n uint32) []byte {
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.err = ErrTruncated
	}
	if r.err != nil {
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

// u64 reads an unsigned LEB128 number of at most the given bits.
func (r *reader) unsigned(bits int) uint64 {
	var value uint64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift+7 > bits && b>>(bits-shift) != 0 {
			r.fail("a number is too large")
			return 0
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.unsigned(32)) }

// name reads a string.
func (r *reader) name() string {
	s := string(r.bytes(r.u32()))
	if !utf8.ValidString(s) {
		r.fail("a name is not valid UTF-8")
		return ""
	}
	return s
}

// count reads the length of a vector, whose elements take at least a byte each.
func (r *reader) count() int {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.err = ErrTruncated
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}
