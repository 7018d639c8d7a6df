package guestcbor

import (
	"math"

	"github.com/husk-dev/husk/abi/property"
)

// Open is Unmarshal for who looks at few parts of the object: it reads all of data, and
// refuses what Unmarshal refuses, but decodes arrays and objects only when somebody
// looks into them. What nobody looked into is encoded by copying.
func Open(data []byte) (property.Map, error) { return Codec{}.Open(data) }

// OpenValue is UnmarshalValue for who looks at few parts of the value, see Open.
func OpenValue(data []byte) (property.Value, error) { return Codec{}.OpenValue(data) }

// Open is the function Open within the limits of c.
func (c Codec) Open(data []byte) (property.Map, error) {
	v, err := c.OpenValue(data)
	if err != nil {
		return property.Map{}, err
	}
	return asMap(v)
}

// OpenValue is the function OpenValue within the limits of c.
func (c Codec) OpenValue(data []byte) (property.Value, error) {
	d, err := c.decoder(data)
	if err != nil {
		return property.Value{}, err
	}
	d.later = true
	var v property.Value
	if d.opened(&v) && d.pos < len(d.in) {
		d.fail(d.pos, property.FaultTrailing)
	}
	if d.fault != 0 {
		return property.Value{}, d.err(c.limits)
	}
	return v, nil
}

// opened reads the outermost value. Of a map the entries are decoded, for somebody will
// look at them.
func (d *decoder) opened(dst *property.Value) bool {
	if len(d.in) == 0 || d.in[0]&0xe0 != majorMap {
		return d.value(dst)
	}
	_, n, ok := d.head()
	if !ok {
		return false
	}
	entries, ok := d.entries(0, n)
	if ok {
		*dst = property.Object(property.OpenedMap(d.in[:d.pos], entries))
	}
	return ok
}

// putOff reads an array or map of so many items, whose head is at start, without decoding
// it.
func (d *decoder) putOff(dst *property.Value, start int, major byte, n uint64) bool {
	if d.valid {
		d.pos = extent(d.in, start)
	} else if !d.skimInto(start, major, n) {
		return false
	}
	encoding := d.in[start:d.pos]
	if major == majorArray {
		*dst = property.EncodedArray(encoding, int(n), decodes{})
	} else {
		*dst = property.Object(property.EncodedMap(encoding, int(n), decodes{}))
	}
	return true
}

// skimInto reads the items of an array or map whose head is at start.
func (d *decoder) skimInto(start int, major byte, n uint64) bool {
	each := uint64(1)
	if major == majorMap {
		each = 2
	}
	if !d.enter(start) || !d.announce(start, n, each) || !d.skim(int(n), each == 2) {
		return false
	}
	d.depth++
	return true
}

// skim reads so many values, each after a key where they are those of a map, as value
// and entries do: it finds the same faults, but makes nothing of what it reads.
func (d *decoder) skim(n int, keyed bool) bool {
	previous := ""
	in := d.in
	for i := range n {
		if keyed {
			at := d.pos
			key, ok := d.text()
			if !ok {
				return false
			}
			if i > 0 && !d.follows(at, previous, key) {
				return false
			}
			previous = key
		}
		start := d.pos
		if start >= len(in) {
			return d.fail(start, property.FaultTruncated)
		}
		switch b := in[start]; {
		case b&0xe0 == majorText:
			if _, ok := d.text(); !ok {
				return false
			}
		case b >= simpleFalse && b <= simpleNull:
			d.pos++
			d.unread--
		case b&0xe0 == majorArray || b&0xe0 == majorMap:
			major, n, ok := d.head()
			if !ok || !d.skimInto(start, major, n) {
				return false
			}
		default: // numbers, tags, and what is none of these
			var v property.Value
			if !d.value(&v) {
				return false
			}
		}
	}
	return true
}

// decodes is the property.Decoder of what was opened.
type decodes struct{}

func (decodes) Elements(encoding string) []property.Value {
	o := opened(encoding)
	_, n := o.head()
	elements := make([]property.Value, n)
	for i := range elements {
		o.value(&elements[i])
	}
	return elements
}

func (decodes) Entries(encoding string) []property.Entry {
	o := opened(encoding)
	_, n := o.head()
	entries := make([]property.Entry, n)
	for i := range entries {
		e := &entries[i]
		e.Key = o.text()
		o.value(&e.Value)
	}
	return entries
}

// opener decodes one level of what is known to be valid.
type opener struct {
	decoder
}

func opened(encoding string) opener {
	const enough = math.MaxInt / 2 // the limits were checked before
	return opener{decoder{in: encoding, unread: -enough, items: enough, depth: property.MaxDepth, later: true, valid: true}}
}

func (o *opener) head() (major byte, n int) {
	b := o.in[o.pos]
	o.pos++
	major, n = b&0xe0, int(b&0x1f)
	if n >= 24 {
		size := 1 << (n - 24)
		n = int(bigEndian(o.in[o.pos : o.pos+size]))
		o.pos += size
	}
	return major, n
}

func (o *opener) text() string {
	_, n := o.head()
	s := o.in[o.pos : o.pos+n]
	o.pos += n
	return s
}

func (o *opener) value(dst *property.Value) {
	switch b := o.in[o.pos]; b & 0xe0 {
	case majorText:
		*dst = property.String(o.text())
	case majorArray, majorMap:
		start := o.pos
		major, n := o.head()
		o.putOff(dst, start, major, uint64(n))
	default:
		o.decoder.value(dst)
	}
}

// extent returns where the valid data item at start ends.
func extent(in string, start int) int {
	pos := start
	for unread := 1; unread > 0; unread-- {
		b := in[pos]
		pos++
		n := int(b & 0x1f)
		if n >= 24 {
			size := 1 << (n - 24)
			if b < majorSimple {
				n = int(bigEndian(in[pos : pos+size]))
			}
			pos += size
		}
		switch b & 0xe0 {
		case majorText:
			pos += n
		case majorArray:
			unread += n
		case majorMap:
			unread += 2 * n
		case majorTag:
			unread++
		}
	}
	return pos
}

// measure returns how many data items a valid encoding has, and how many levels.
func measure(encoding string) (items, levels int) {
	m := measurer{opener: opened(encoding)}
	m.values(1, 0)
	return m.read, m.levels
}

type measurer struct {
	opener
	read, levels int
}

// values reads so many data items at a level.
func (m *measurer) values(n, level int) {
	m.levels = max(m.levels, level)
	m.read += n
	for range n {
		start := m.pos
		major, n := m.head()
		switch major {
		case majorText:
			m.pos += n
		case majorArray:
			m.values(n, level+1)
		case majorMap:
			m.values(2*n, level+1)
		case majorTag:
			m.tagged(n, level)
		case majorSimple:
			m.pos = extent(m.in, start)
		}
	}
}

// tagged reads what a tag holds. Its array is no level.
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
