package guestcbor

import (
	"math"
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

// OpenTrusted decodes an object of a trusted sender. A guest may trust its host, which can write all
// of its memory anyway. Nobody may trust a guest.
//
// It does not check that texts are UTF-8, that keys are distinct and in order, that heads are the
// shortest, or the limits. If they are not, the result has no meaning, but is safe to access:
// nothing outside of data is read. An input that ends too early is an error. Errors are *property.DecodeError.
//
// Arrays and objects inside of the object are decoded on the first access, and encoded by copying
// without one. As for Unmarshal, the result shares data.
func OpenTrusted(data []byte) (property.Map, error) {
	in := unsafe.String(unsafe.SliceData(data), len(data))
	if len(in) == 0 || in[0]&0xe0 != majorMap {
		v, err := OpenTrustedValue(data)
		if err != nil {
			return property.Map{}, err
		}
		return asMap(v)
	}
	m, end := openMap(in)
	if end != len(in) {
		return property.Map{}, refuse(in, end)
	}
	return m, nil
}

// OpenTrustedValue decodes a value of any kind, see OpenTrusted.
func OpenTrustedValue(data []byte) (property.Value, error) {
	in := unsafe.String(unsafe.SliceData(data), len(data))
	var v property.Value
	end := 0
	if len(in) > 0 && in[0]&0xe0 == majorMap {
		var m property.Map
		m, end = openMap(in)
		property.PutObject(&v, m)
	} else {
		end = openValue(in, 0, &v)
	}
	if end != len(in) {
		return property.Value{}, refuse(in, end)
	}
	return v, nil
}

// refuse returns the error for an input that does not end at end, which may be a fault.
func refuse(in string, end int) error {
	if end < 0 {
		return &property.DecodeError{Fault: property.Fault(-end), Offset: len(in)}
	}
	return &property.DecodeError{Fault: property.FaultTrailing, Offset: end}
}

// The functions of this file that read a part of an encoding answer where it ends, or a
// fault as one of these numbers.
const (
	truncated = -int(property.FaultTruncated)
	malformed = -int(property.FaultMalformed)
	mistyped  = -int(property.FaultType)
)

// headOf returns the argument of the head at pos, and where the head ends, or a fault as one of the
// numbers below 0. So do the other functions that read a part of an encoding.
func headOf(in string, pos int) (n, end int) {
	if pos >= len(in) {
		return 0, truncated
	}
	n = int(in[pos] & 0x1f)
	pos++
	switch {
	case n < 24:
		return n, pos
	case n > 27:
		return 0, malformed
	}
	size := 1 << (n - 24)
	if size > len(in)-pos {
		return 0, truncated
	}
	// Nothing is as long as the largest numbers say.
	return int(bigEndian(in[pos:pos+size]) & math.MaxInt), pos + size
}

// textOf returns the place of the text whose head is at pos.
func textOf(in string, pos int) (begin, end int) {
	if pos < len(in) && in[pos]&0xe0 != majorText {
		return 0, mistyped
	}
	n, begin := headOf(in, pos)
	switch {
	case begin < 0:
		return 0, begin
	case n > len(in)-begin:
		return 0, truncated
	}
	return begin, begin + n
}

// openMap reads the object that is all of the input, with its entries: somebody looks at them.
func openMap(in string) (m property.Map, end int) {
	n, pos := headOf(in, 0)
	if pos < 0 {
		return m, pos
	}
	if n > (len(in)-pos)/2 { // each has a byte at least, and so has its key
		return m, truncated
	}
	m, entries := property.OpenedMap(in, n)
	return m, openEntries(in, pos, entries)
}

// openEntries reads entries of an object. The most frequent forms take no call, because calls are
// slow in guests.
func openEntries(in string, pos int, entries []property.Entry) (end int) {
	for i := range entries {
		e := &entries[i]
		if pos >= len(in) {
			return truncated
		}
		begin, end := pos+1, 0
		if size := uint(in[pos]) - majorText; size < 24 && size <= uint(len(in)-begin) {
			end = begin + int(size)
		} else if begin, end = textOf(in, pos); end < 0 {
			return end
		}
		e.Key = in[begin:end]
		if pos = end; pos < len(in) {
			begin = pos + 1
			if size := uint(in[pos]) - majorText; size < 24 && size <= uint(len(in)-begin) {
				pos = begin + int(size)
				property.PutString(&e.Value, in[begin:pos])
				continue
			}
		}
		if pos = openValue(in, pos, &e.Value); pos < 0 {
			return pos
		}
	}
	return pos
}

// openValue reads a value and puts it into null.
func openValue(in string, pos int, null *property.Value) (end int) {
	if pos >= len(in) {
		return truncated
	}
	b := in[pos]
	switch b & 0xe0 {
	case majorText:
		begin, end := textOf(in, pos)
		if end >= 0 {
			property.PutString(null, in[begin:end])
		}
		return end
	case majorArray, majorMap:
		if end = extent(in, pos); end < 0 {
			return end
		}
		n, _ := headOf(in, pos)
		if b&0xe0 == majorArray {
			*null = property.EncodedArray(in[pos:end], n, opens{})
		} else {
			property.PutObject(null, property.EncodedMap(in[pos:end], n, opens{}))
		}
		return end
	case majorTag:
		return openTagged(in, pos, null)
	}
	switch {
	case b == simpleFloat16 && len(in)-pos > 2:
		property.PutNumber(null, floatOfHalf(uint16(in[pos+1])<<8|uint16(in[pos+2])))
		return pos + 3
	case b == simpleTrue || b == simpleFalse:
		*null = property.Bool(b == simpleTrue)
		return pos + 1
	case b == simpleNull:
		return pos + 1
	}
	return openTagged(in, pos, null)
}

// openTagged reads a value as Unmarshal does, except for the arrays and objects in it.
func openTagged(in string, pos int, dst *property.Value) (end int) {
	d := decoder{in: in, pos: pos, unread: 1, items: len(in), depth: property.MaxDepth, trusted: true}
	if d.value(dst) {
		return d.pos
	}
	*dst = property.Null
	return -int(d.fault)
}

// opens is the property.Decoder of opened values. extent has seen all their parts. If the key of an entry is not text, that entry
// and all later ones are zero.
type opens struct{}

func (opens) Elements(encoding string) []property.Value {
	n, pos := headOf(encoding, 0)
	elements := make([]property.Value, n)
	for i := range elements {
		if pos = openValue(encoding, pos, &elements[i]); pos < 0 {
			break
		}
	}
	return elements
}

func (opens) Entries(encoding string) []property.Entry {
	n, pos := headOf(encoding, 0)
	entries := make([]property.Entry, n)
	openEntries(encoding, pos, entries)
	return entries
}

// measure returns the number of data items and levels of an encoding.
func measure(encoding string) (items, levels int) {
	m := measurer{in: encoding}
	m.values(1, 0)
	return m.read, m.levels
}

// measurer reads an encoding. It ends early at a fault of one that was trusted.
type measurer struct {
	in           string
	pos          int
	read, levels int
}

// values reads n data items at a level.
func (m *measurer) values(n, level int) {
	m.levels = max(m.levels, level)
	m.read += n
	for ; n > 0 && m.pos < len(m.in); n-- {
		major, n := m.head()
		switch major {
		case majorText:
			m.pos += min(n, len(m.in)-m.pos)
		case majorArray:
			m.values(n, level+1)
		case majorMap:
			m.values(2*n, level+1)
		case majorTag:
			m.tagged(n, level)
		}
	}
}

func (m *measurer) head() (major byte, n int) {
	if m.pos >= len(m.in) {
		return majorSimple, 0
	}
	major = m.in[m.pos] & 0xe0
	if n, m.pos = headOf(m.in, m.pos); m.pos < 0 {
		m.pos = len(m.in)
	}
	return major, n
}

// tagged reads the contents of a tag. Their array does not count as a level.
func (m *measurer) tagged(tag, level int) {
	switch tag {
	case tagUnknown:
		m.values(1, level)
		return
	case tagSecret:
		m.values(1, level+1)
		return
	}
	m.head()
	m.read++
	if tag != tagOutput {
		m.values(3, level)
		return
	}
	m.values(1, level+1)
	m.values(1, level)
	_, n := m.head()
	m.read++
	m.values(n, level)
}
