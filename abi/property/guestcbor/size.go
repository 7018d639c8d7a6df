package guestcbor

import (
	"math"

	"github.com/husk-dev/husk/abi/property"
)

// Size returns the length of the encoding of m in bytes. ok is false if m has no encoding.
func Size(m property.Map) (bytes int, ok bool) { return Codec{}.Size(m) }

// Size is the function Size within the limits of c.
func (c Codec) Size(m property.Map) (bytes int, ok bool) {
	limits := c.limits.WithDefaults()
	s := sizer{items: limits.Items - 1, depth: limits.Depth}
	if !s.object(m) || s.bytes > limits.Size {
		return 0, false
	}
	return s.bytes, true
}

// sizer counts what an encoder appends. Its methods return false exactly where the encoder's do.
type sizer struct {
	bytes int
	items int // data items left
	depth int // levels left
}

// tagHead is the length of the head of each tag, and of an array in it, in bytes.
const (
	tagHead   = 3
	arrayHead = 1
)

// take counts data items, and enter goes one level down; leaving is s.depth++.
func (s *sizer) take(items int) bool {
	s.items -= items
	return s.items >= 0
}

func (s *sizer) enter() bool {
	s.depth--
	return s.depth >= 0
}

func (s *sizer) head(n int) {
	switch {
	case n < 24:
		s.bytes++
	case n <= math.MaxUint8:
		s.bytes += 2
	case n <= math.MaxUint16:
		s.bytes += 3
	case uint64(n) <= math.MaxUint32:
		s.bytes += 5
	default:
		s.bytes += 9
	}
}

func (s *sizer) text(t string) bool {
	s.head(len(t))
	s.bytes += len(t)
	return property.ValidText(t)
}

func (s *sizer) value(v *property.Value) bool {
	switch property.KindIn(v) {
	case property.KindNumber:
		f, _ := property.NumberIn(v)
		s.number(f)
	case property.KindString:
		t, _ := property.StringIn(v)
		return s.text(t)
	case property.KindArray:
		return s.array(*v)
	case property.KindObject:
		m, _ := property.ObjectIn(v)
		return s.object(m)
	case property.KindUnknown:
		s.bytes += tagHead + 1
		return s.take(1)
	case property.KindSecret:
		inner, _ := v.AsSecret()
		s.bytes += tagHead
		if !s.enter() || !s.take(1) || !s.value(&inner) {
			return false
		}
		s.depth++
	case property.KindOutput:
		o, _ := v.AsOutput()
		return s.output(o)
	case property.KindAsset:
		a, _ := v.AsAsset()
		return s.blob(a.Hash) && s.asset(&a)
	case property.KindArchive:
		a, _ := v.AsArchive()
		return s.blob(a.Hash) && s.archive(&a)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		return s.reference(r)
	default: // null, bool
		s.bytes++
	}
	return true
}

func (s *sizer) array(v property.Value) bool {
	if encoding, ok := v.Encoding(); ok {
		if items, levels := measure(encoding); items-1 <= s.items && levels <= s.depth {
			s.items -= items - 1
			s.bytes += len(encoding)
			return true
		}
	}
	elements, _ := v.AsArray()
	if !s.enter() || !s.take(len(elements)) {
		return false
	}
	s.head(len(elements))
	for i := range elements {
		if !s.value(&elements[i]) {
			return false
		}
	}
	s.depth++
	return true
}

func (s *sizer) object(m property.Map) bool {
	entries := m.Entries()
	if !s.enter() || !s.take(2*len(entries)) {
		return false
	}
	s.head(len(entries))
	for i := range entries {
		if !s.text(entries[i].Key) || !s.value(&entries[i].Value) {
			return false
		}
	}
	s.depth++
	return true
}

func (s *sizer) output(o property.Output) bool {
	if !s.enter() || !s.take(4+len(o.Dependencies)) {
		return false
	}
	s.bytes += tagHead + arrayHead + 1
	s.head(len(o.Dependencies))
	for _, d := range o.Dependencies {
		if !s.text(d) {
			return false
		}
	}
	if !s.value(&o.Value) {
		return false
	}
	s.depth++
	return true
}

// blob counts an asset or archive up to the contents.
func (s *sizer) blob(hash string) bool {
	s.bytes += tagHead + arrayHead + 1
	return s.take(4) && s.text(hash)
}

func (s *sizer) asset(a *property.Asset) bool {
	contents, ok := a.Contents()
	return ok && s.text(contents)
}

func (s *sizer) archive(a *property.Archive) bool {
	if contents, ok := a.Contents(); ok {
		return s.text(contents)
	}
	for _, v := range a.Assets.All() {
		if !isMember(&v) {
			return false
		}
	}
	return a.Source == property.SourceAssets && s.object(a.Assets)
}

func (s *sizer) reference(r property.ResourceReference) bool {
	s.bytes += tagHead + arrayHead
	if !s.take(4) || !s.text(r.URN) {
		return false
	}
	if !r.HasID {
		s.bytes++
	} else if !s.text(r.ID) {
		return false
	}
	return s.text(r.PackageVersion)
}

func (s *sizer) number(f float64) {
	single := float32(f)
	switch {
	case f != f:
		s.bytes += 3
	case float64(single) != f:
		s.bytes += 9
	default:
		s.bytes += 5
		if _, ok := halfOfSingle(math.Float32bits(single)); ok {
			s.bytes -= 2
		}
	}
}
