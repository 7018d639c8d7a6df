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

// reader reads the elements of the binary format. After the first failure, which err holds, all
// methods return zero values.
//
// Numbers are read as strictly as the standard says, because another reading of the engine could
// hide code.
type reader struct {
	data []byte
	// base is the offset of data in the file.
	base int
	at   int
	err  error
}

func (r *reader) left() int { return len(r.data) - r.at }

// offset is where in the file the reader is.
func (r *reader) offset() int { return r.base + r.at }

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = &FormatError{Offset: r.offset(), What: what}
	}
}

func (r *reader) refuse(p proposal) {
	if r.err == nil {
		r.err = &UnsupportedError{Offset: r.offset(), What: p.what, Proposal: p.name, Instead: p.instead}
	}
}

func (r *reader) refuseInstruction(first byte, second uint32) {
	p, known := ofInstruction(first, second)
	switch {
	case known:
	case first == prefixMisc || first == prefixVector:
		p.what = fmt.Sprintf("the unknown opcode 0x%x 0x%x", first, second)
	default:
		p.what = fmt.Sprintf("the unknown opcode 0x%x", first)
	}
	r.refuse(p)
}

func (r *reader) limit(what string, count uint64, limit int) bool {
	if r.err == nil && count > uint64(limit) {
		r.err = &LimitError{What: what, Count: count, Limit: uint64(limit)}
	}
	return r.err == nil
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

// bytes returns a view of the next n bytes.
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

// u32 reads an unsigned LEB128 number.
func (r *reader) u32() uint32 {
	if r.err == nil && r.at < len(r.data) && r.data[r.at] < 0x80 { // nearly all of them
		r.at++
		return uint32(r.data[r.at-1])
	}
	var value uint32
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && b > 0x0f {
			r.fail("a number is too large")
			return 0
		}
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

// signed reads a signed LEB128 number of 32, 33, or 64 bits.
func (r *reader) signed(bits int) int64 {
	if r.err == nil && r.at < len(r.data) && r.data[r.at] < 0x80 {
		r.at++
		return int64(int8(r.data[r.at-1]<<1) >> 1)
	}
	var value int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		value |= int64(b&0x7f) << shift
		if shift+7 >= bits { // the last byte that there can be
			// Its bits from the sign on must be equal.
			rest := int8(b<<1) >> (bits - shift)
			if b >= 0x80 || rest != 0 && rest != -1 {
				r.fail("a number is too large")
				return 0
			}
		}
		if b < 0x80 {
			if unused := 64 - shift - 7; unused > 0 {
				value = value << unused >> unused
			}
			return value
		}
	}
}

func (r *reader) name() string {
	s := r.bytes(r.u32())
	if !utf8.Valid(s) {
		r.fail("a name is not valid UTF-8")
		return ""
	}
	return string(s)
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

// number reads a number that has a limit.
func (r *reader) number(what string, limit int) int {
	n := r.u32()
	if !r.limit(what, uint64(n), limit) {
		return 0
	}
	return int(n)
}

// countOf reads the length of a vector that has a limit. The limit comes first, because it says more
// than that the file is too short.
func (r *reader) countOf(what string, limit int) int {
	n := r.number(what, limit)
	if n > r.left() {
		r.err = ErrTruncated
		return 0
	}
	return n
}

// index reads an index below count.
func (r *reader) index(what string, count int) uint32 {
	at := r.at
	n := r.u32()
	if r.err == nil && int64(n) >= int64(count) {
		r.at = at
		r.fail(fmt.Sprintf("there is no %s %d", what, n))
	}
	return n
}
