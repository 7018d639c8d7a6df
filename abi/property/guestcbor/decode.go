package guestcbor

import (
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

// Unmarshal is the function Unmarshal within the limits of c.
func (c Codec) Unmarshal(data []byte) (property.Map, error) {
	v, err := c.UnmarshalValue(data)
	if err != nil {
		return property.Map{}, err
	}
	return asMap(v)
}

func asMap(v property.Value) (property.Map, error) {
	m, ok := v.AsObject()
	if !ok {
		return property.Map{}, &property.DecodeError{Fault: property.FaultType}
	}
	return m, nil
}

// UnmarshalValue is the function UnmarshalValue within the limits of c.
func (c Codec) UnmarshalValue(data []byte) (property.Value, error) {
	v, _, err := c.UnmarshalCounted(data)
	return v, err
}

// UnmarshalCounted is UnmarshalValue that also returns the number of data items, see
// [property.Limits].
func (c Codec) UnmarshalCounted(data []byte) (v property.Value, items int, err error) {
	d, err := c.decoder(data)
	if err != nil {
		return property.Value{}, 0, err
	}
	most := d.items
	if d.value(&v) && d.pos < len(d.in) {
		d.fail(d.pos, property.FaultTrailing)
	}
	if d.fault != 0 {
		return property.Value{}, 0, d.err(c.limits)
	}
	return v, most - d.items + 1, nil
}

// decoder returns the decoder of an input, unless the input is too large.
func (c Codec) decoder(data []byte) (decoder, error) {
	limits := c.limits.WithDefaults()
	if len(data) > limits.Size {
		return decoder{}, &property.DecodeError{Fault: property.FaultTooLarge, Offset: limits.Size, Limit: limits.Size}
	}
	return decoder{
		in:     unsafe.String(unsafe.SliceData(data), len(data)),
		unread: 1, items: limits.Items - 1, depth: limits.Depth,
	}, nil
}

// decoder reads one value. Its methods report success. After a failure, fault and faultAt are set
// and the rest is undefined.
type decoder struct {
	in  string // the input; the texts of the result are parts of it
	pos int

	// unread counts the data items that heads have announced and that are still to be read. Each
	// takes a byte at least, so a container may announce no more than the rest of the input has room
	// for: allocations never exceed what the input could hold.
	unread int
	items  int // data items left
	depth  int // levels left

	// trusted marks input of a trusted sender, see OpenTrusted: arrays and objects are decoded on
	// the first access.
	trusted bool

	fault   property.Fault
	faultAt int
}

func (d *decoder) err(limits property.Limits) error {
	limits = limits.WithDefaults()
	err := &property.DecodeError{Fault: d.fault, Offset: d.faultAt}
	switch d.fault {
	case property.FaultTooManyItems:
		err.Limit = limits.Items
	case property.FaultTooDeep:
		err.Limit = limits.Depth
	}
	return err
}

func (d *decoder) fail(at int, fault property.Fault) bool {
	d.fault, d.faultAt = fault, at
	return false
}

// head reads the head of a data item: the major type in the upper three bits, and the argument. For
// major type 7, see simple.
func (d *decoder) head() (major byte, n uint64, ok bool) {
	start := d.pos
	if start >= len(d.in) {
		return 0, 0, d.fail(start, property.FaultTruncated)
	}
	b := d.in[start]
	d.pos = start + 1
	d.unread--
	major, n = b&0xe0, uint64(b&0x1f)
	if n < 24 {
		return major, n, true
	}
	if n > 27 {
		if n == 31 && major >= 2<<5 && major <= majorMap {
			return 0, 0, d.fail(start, property.FaultIndefiniteLength)
		}
		return 0, 0, d.fail(start, property.FaultMalformed)
	}
	size := 1 << (n - 24)
	if len(d.in)-d.pos < size {
		return 0, 0, d.fail(len(d.in), property.FaultTruncated)
	}
	n = bigEndian(d.in[d.pos : d.pos+size])
	d.pos += size
	// An argument of 1, 2, 4, or 8 bytes must not fit the next shorter form.
	if n < 24 || size > 1 && n>>(size*4) == 0 {
		return 0, 0, d.fail(start, property.FaultNotShortest)
	}
	return major, n, true
}

func bigEndian(s string) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// announce checks that the input and the limit have room for the items of the container at start.
func (d *decoder) announce(start int, count, itemsEach uint64) bool {
	room := len(d.in) - d.pos - d.unread
	if room < 0 || count > uint64(room)/itemsEach {
		return d.fail(len(d.in), property.FaultTruncated)
	}
	items := int(count * itemsEach)
	d.unread += items
	d.items -= items
	return d.items >= 0 || d.fail(start, property.FaultTooManyItems)
}

// enter goes one level down; leaving is d.depth++.
func (d *decoder) enter(start int) bool {
	d.depth--
	return d.depth >= 0 || d.fail(start, property.FaultTooDeep)
}

func (d *decoder) value(dst *property.Value) bool {
	start := d.pos
	if start >= len(d.in) {
		return d.fail(start, property.FaultTruncated)
	}
	b := d.in[start]
	if b >= majorSimple {
		return d.simple(dst, b)
	}
	if b&0xe0 == majorText {
		s, ok := d.text()
		*dst = property.String(s)
		return ok
	}
	major, n, ok := d.head()
	if !ok {
		return false
	}
	if d.trusted && (major == majorArray || major == majorMap) {
		d.pos = openValue(d.in, start, dst)
		return d.pos >= 0 || d.fail(start, property.Fault(-d.pos))
	}
	switch major {
	case majorArray:
		return d.array(dst, start, n)
	case majorMap:
		entries, ok := d.entries(start, n)
		if ok {
			*dst = property.Object(property.SortedMap(entries))
		}
		return ok
	case majorTag:
		return d.tagged(dst, start, n)
	default: // integers and byte strings
		return d.fail(start, property.FaultType)
	}
}

// simple reads null, a bool, or a number, of the initial byte b.
func (d *decoder) simple(dst *property.Value, b byte) bool {
	start := d.pos
	d.pos++
	d.unread--
	switch b {
	case simpleNull:
		*dst = property.Null
		return true
	case simpleFalse, simpleTrue:
		*dst = property.Bool(b == simpleTrue)
		return true
	case simpleFloat16, simpleFloat32, simpleFloat64:
		f, ok := d.float(start, b)
		*dst = property.Number(f)
		return ok
	case majorSimple | 28, majorSimple | 29, majorSimple | 30, majorSimple | 31:
		return d.fail(start, property.FaultMalformed)
	case majorSimple | 24: // the simple values 32 to 255
		if d.pos == len(d.in) {
			return d.fail(d.pos, property.FaultTruncated)
		}
		if d.in[d.pos] < 32 {
			return d.fail(start, property.FaultMalformed)
		}
	}
	return d.fail(start, property.FaultType)
}

// text reads a text. Short ones, with the length in one byte or two, take no further call, because
// calls are slow in guests.
func (d *decoder) text() (string, bool) {
	start := d.pos
	if start < len(d.in) {
		n := uint(d.in[start]) - majorText
		rest := d.in[start+1:]
		if n == 24 && rest != "" && rest[0] >= 24 {
			n, rest = uint(rest[0]), rest[1:]
		} else if n >= 24 {
			rest = ""
		}
		if n > 0 && n <= uint(len(rest)) {
			s := rest[:n]
			if !d.trusted && !property.ValidText(s) {
				return "", d.fail(start, property.FaultInvalidUTF8)
			}
			d.pos = len(d.in) - len(rest) + int(n)
			d.unread--
			return s, true
		}
	}
	major, n, ok := d.head()
	if !ok {
		return "", false
	}
	if major != majorText {
		return "", d.fail(start, property.FaultType)
	}
	return d.textOf(start, n)
}

// textOf reads the n bytes of the text whose head is at start.
func (d *decoder) textOf(start int, n uint64) (string, bool) {
	if n > uint64(len(d.in)-d.pos) {
		return "", d.fail(len(d.in), property.FaultTruncated)
	}
	s := d.in[d.pos : d.pos+int(n)]
	if !d.trusted && !property.ValidText(s) {
		return "", d.fail(start, property.FaultInvalidUTF8)
	}
	d.pos += int(n)
	return s, true
}

func (d *decoder) array(dst *property.Value, start int, n uint64) bool {
	if !d.enter(start) || !d.announce(start, n, 1) {
		return false
	}
	elements := make([]property.Value, n)
	for i := range elements {
		if !d.value(&elements[i]) {
			return false
		}
	}
	*dst = property.Array(elements...)
	d.depth++
	return true
}

// entries reads the n entries of the map whose head is at start.
func (d *decoder) entries(start int, n uint64) ([]property.Entry, bool) {
	if !d.enter(start) || !d.announce(start, n, 2) {
		return nil, false
	}
	entries := make([]property.Entry, n)
	for i := range entries {
		e := &entries[i]
		at := d.pos
		key, ok := d.text()
		if !ok {
			return nil, false
		}
		if i > 0 && !d.follows(at, entries[i-1].Key, key) {
			return nil, false
		}
		e.Key = key
		if !d.value(&e.Value) {
			return nil, false
		}
	}
	d.depth++
	return entries, true
}

// follows checks the order of two keys, the second one at an offset.
func (d *decoder) follows(at int, previous, key string) bool {
	switch order := property.CompareKeys(previous, key); {
	case order < 0:
		return true
	case order == 0:
		return d.fail(at, property.FaultDuplicateKey)
	}
	return d.fail(at, property.FaultKeyOrder)
}

// float reads a float with the initial byte b at start.
func (d *decoder) float(start int, b byte) (float64, bool) {
	size := 2 << (b - simpleFloat16)
	if len(d.in)-d.pos < size {
		return 0, d.fail(len(d.in), property.FaultTruncated)
	}
	bits := bigEndian(d.in[d.pos : d.pos+size])
	d.pos += size
	f, shortest := floatOfBits(bits, size)
	if !shortest {
		return 0, d.fail(start, property.FaultNotShortest)
	}
	return f, true
}
