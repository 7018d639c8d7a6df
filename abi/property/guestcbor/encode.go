package guestcbor

import (
	"math"
	"slices"

	"github.com/husk-dev/husk/abi/property"
)

// Major types of CBOR, in the upper three bits of an initial byte.
const (
	majorUint   = 0 << 5
	majorBytes  = 2 << 5
	majorText   = 3 << 5
	majorArray  = 4 << 5
	majorMap    = 5 << 5
	majorTag    = 6 << 5
	majorSimple = 7 << 5
)

// Initial bytes of major type 7.
const (
	simpleFalse   = majorSimple | 20
	simpleTrue    = majorSimple | 21
	simpleNull    = majorSimple | 22
	simpleFloat16 = majorSimple | 25
	simpleFloat32 = majorSimple | 26
	simpleFloat64 = majorSimple | 27
)

// Tags of property values, see wit/property.cddl.
const (
	tagUnknown   = 48500
	tagSecret    = 48501
	tagOutput    = 48502
	tagAsset     = 48503
	tagArchive   = 48504
	tagReference = 48505
)

// firstSize is the initial capacity of an encoding in bytes. Most objects fit.
const firstSize = 512

type encoder struct {
	dst   []byte
	items int // data items left
	depth int // levels left
	fault property.Fault
	path  property.Path // to the fault, innermost segment first
}

func (c Codec) appendValue(dst []byte, v property.Value) ([]byte, error) {
	limits := c.limits.WithDefaults()
	e := encoder{dst: dst, items: limits.Items - 1, depth: limits.Depth}
	if cap(dst) == 0 {
		e.dst = make([]byte, 0, firstSize)
	}
	if e.value(v) && len(e.dst)-len(dst) > limits.Size {
		e.fault = property.FaultTooLarge
	}
	switch e.fault {
	case 0:
		return e.dst, nil
	case property.FaultTooLarge:
		return dst, &property.EncodeError{Fault: e.fault, Limit: limits.Size}
	case property.FaultTooManyItems:
		return dst, &property.EncodeError{Fault: e.fault, Limit: limits.Items}
	case property.FaultTooDeep:
		return dst, &property.EncodeError{Fault: e.fault, Path: e.where(), Limit: limits.Depth}
	default:
		return dst, &property.EncodeError{Fault: e.fault, Path: e.where()}
	}
}

func (e *encoder) where() property.Path {
	slices.Reverse(e.path)
	return e.path
}

func (e *encoder) fail(fault property.Fault) bool {
	e.fault = fault
	return false
}

// at notes that the fault is in the part of the value at s.
func (e *encoder) at(s property.Segment) bool {
	e.path = append(e.path, s)
	return false
}

// take counts data items.
func (e *encoder) take(items int) bool {
	e.items -= items
	return e.items >= 0 || e.fail(property.FaultTooManyItems)
}

// enter goes one level down; leaving is e.depth++.
func (e *encoder) enter() bool {
	e.depth--
	return e.depth >= 0 || e.fail(property.FaultTooDeep)
}

func (e *encoder) value(v property.Value) bool {
	switch v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		e.bool(b)
		return true
	case property.KindNumber:
		f, _ := v.AsNumber()
		e.number(f)
		return true
	case property.KindString:
		s, _ := v.AsString()
		return e.text(s)
	case property.KindArray:
		if encoding, ok := v.Encoding(); ok && e.encoded(encoding) {
			return true
		}
		elements, _ := v.AsArray()
		return e.array(elements)
	case property.KindObject:
		m, _ := v.AsObject()
		return e.object(m)
	case property.KindUnknown:
		e.head(majorTag, tagUnknown)
		e.dst = append(e.dst, simpleNull)
		return e.take(1)
	case property.KindSecret:
		inner, _ := v.AsSecret()
		e.head(majorTag, tagSecret)
		if !e.enter() || !e.take(1) || !e.value(inner) {
			return false
		}
		e.depth++
		return true
	case property.KindOutput:
		o, _ := v.AsOutput()
		return e.output(o)
	case property.KindAsset:
		a, _ := v.AsAsset()
		return e.asset(&a)
	case property.KindArchive:
		a, _ := v.AsArchive()
		return e.archive(&a)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		return e.reference(r)
	default: // null
		e.dst = append(e.dst, simpleNull)
		return true
	}
}

func (e *encoder) array(elements []property.Value) bool {
	if !e.enter() || !e.take(len(elements)) {
		return false
	}
	e.head(majorArray, uint64(len(elements)))
	for i := range elements {
		if !e.value(elements[i]) {
			return e.at(property.Index(i))
		}
	}
	e.depth++
	return true
}

// encoded appends an encoding, unless it exceeds the limits: a walk over the parts finds where.
func (e *encoder) encoded(encoding string) bool {
	items, levels := measure(encoding)
	if items-1 > e.items || levels > e.depth {
		return false
	}
	e.items -= items - 1
	e.dst = append(e.dst, encoding...)
	return true
}

func (e *encoder) object(m property.Map) bool {
	entries := m.Entries()
	if !e.enter() || !e.take(2*len(entries)) {
		return false
	}
	e.head(majorMap, uint64(len(entries)))
	dst := e.dst // most of it is texts, between which it stays in registers
	for i := range entries {
		entry := &entries[i]
		ok := false
		if dst, ok = appendText(dst, entry.Key); ok {
			if s, isText := entry.Value.AsString(); isText {
				dst, ok = appendText(dst, s)
			} else {
				e.dst = dst
				if !e.value(entry.Value) {
					return e.at(property.Key(entry.Key))
				}
				dst = e.dst
			}
		}
		if !ok {
			e.fault = property.FaultInvalidUTF8
			return e.at(property.Key(entry.Key))
		}
	}
	e.dst = dst
	e.depth++
	return true
}

func (e *encoder) output(o property.Output) bool {
	if !e.enter() || !e.take(4+len(o.Dependencies)) {
		return false
	}
	e.head(majorTag, tagOutput)
	e.head(majorArray, 3)
	if !e.value(o.Value) {
		return false
	}
	e.bool(o.Secret)
	e.head(majorArray, uint64(len(o.Dependencies)))
	for _, d := range o.Dependencies {
		if !e.text(d) {
			return false
		}
	}
	e.depth++
	return true
}

func (e *encoder) asset(a *property.Asset) bool {
	contents, ok := a.Contents()
	if !ok {
		return e.fail(property.FaultTagContents)
	}
	return e.blob(tagAsset, a.Hash, a.Source) && e.text(contents)
}

func (e *encoder) archive(a *property.Archive) bool {
	if contents, ok := a.Contents(); ok {
		return e.blob(tagArchive, a.Hash, a.Source) && e.text(contents)
	}
	if a.Source != property.SourceAssets {
		return e.fail(property.FaultTagContents)
	}
	for k, v := range a.Assets.All() {
		if !isMember(&v) {
			e.fail(property.FaultTagContents)
			return e.at(property.Key(k))
		}
	}
	return e.blob(tagArchive, a.Hash, a.Source) && e.object(a.Assets)
}

// isMember reports whether a value may be in an archive.
func isMember(v *property.Value) bool {
	k := property.KindIn(v)
	return k == property.KindAsset || k == property.KindArchive
}

// blob appends an asset or archive up to the contents, which the caller appends.
func (e *encoder) blob(tag uint64, hash string, source property.AssetSource) bool {
	e.head(majorTag, tag)
	e.head(majorArray, 3)
	if !e.take(4) || !e.text(hash) {
		return false
	}
	e.dst = append(e.dst, majorUint|byte(source)) // the wire has the numbers of property
	return true
}

func (e *encoder) reference(r property.ResourceReference) bool {
	e.head(majorTag, tagReference)
	e.head(majorArray, 3)
	if !e.take(4) || !e.text(r.URN) {
		return false
	}
	if !r.HasID {
		e.dst = append(e.dst, simpleNull)
	} else if !e.text(r.ID) {
		return false
	}
	return e.text(r.PackageVersion)
}

func (e *encoder) text(s string) bool {
	dst, ok := appendText(e.dst, s)
	e.dst = dst
	return ok || e.fail(property.FaultInvalidUTF8)
}

// appendText appends a text. ok is false for invalid UTF-8.
func appendText(dst []byte, s string) (_ []byte, ok bool) {
	if !property.ValidText(s) {
		return dst, false
	}
	if cap(dst)-len(dst) < len(s)+maxHead {
		// Double; append alone grows large slices by a quarter and so copies more.
		dst = slices.Grow(dst, len(s)+maxHead+len(dst))
	}
	switch n := len(s); {
	case n < 24:
		dst = append(dst, majorText|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, majorText|24, byte(n))
	default:
		dst = appendHead(dst, majorText, uint64(n))
	}
	return append(dst, s...), true
}

func (e *encoder) bool(b bool) {
	if b {
		e.dst = append(e.dst, simpleTrue)
	} else {
		e.dst = append(e.dst, simpleFalse)
	}
}

// maxHead is the length of the longest head, in bytes.
const maxHead = 9

// head appends the shortest head of a data item.
func (e *encoder) head(major byte, n uint64) { e.dst = appendHead(e.dst, major, n) }

func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(dst, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	default:
		return append(dst, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32),
			byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
}

// number appends the shortest float that is exactly f.
func (e *encoder) number(f float64) {
	single := float32(f)
	switch {
	case f != f:
		e.dst = append(e.dst, simpleFloat16, 0x7e, 0x00)
	case float64(single) != f:
		b := math.Float64bits(f)
		e.dst = append(e.dst, simpleFloat64, byte(b>>56), byte(b>>48), byte(b>>40), byte(b>>32),
			byte(b>>24), byte(b>>16), byte(b>>8), byte(b))
	default:
		b := math.Float32bits(single)
		if half, ok := halfOfSingle(b); ok {
			e.dst = append(e.dst, simpleFloat16, byte(half>>8), byte(half))
		} else {
			e.dst = append(e.dst, simpleFloat32, byte(b>>24), byte(b>>16), byte(b>>8), byte(b))
		}
	}
}
