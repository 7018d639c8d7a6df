// Package measure bounds the values that a program computes.
package measure

import "github.com/husk-dev/husk/abi/property"

// The limits of one value are the limits of values that can be passed to a provider.
const (
	// MaxText is the text in one value, in bytes.
	MaxText = property.DefaultSize
	// MaxParts is the number of values, keys, and wrappers in one value.
	MaxParts = property.DefaultItems
	// MaxDepth is how deep the parts of one value are nested.
	MaxDepth = property.DefaultDepth
	// partCost is the memory that one part of a value takes, in bytes.
	partCost = 64
)

// Measure is how large a value is.
type Measure struct {
	text, parts int
	// depth is the depth of the current part, and deep says that a part is too deep.
	depth int
	deep  bool
}

// Of returns the measure of a value up to the limits: with shared parts, it could take for ever.
func Of(v property.Value) Measure {
	var m Measure
	m.add(v)
	return m
}

// Exceeded reports whether a value is too large to be passed to a provider.
func (m *Measure) Exceeded() bool { return m.parts > MaxParts || m.text > MaxText || m.deep }

// TooDeep reports whether the parts of a value are nested too deep, whatever else it is.
func (m *Measure) TooDeep() bool { return m.deep }

// Parts returns how many values, keys, and wrappers there are in the value, as far as it was measured.
func (m *Measure) Parts() int { return m.parts }

// Text returns how much text there is in the value, in bytes, as far as it was measured.
func (m *Measure) Text() int { return m.text }

func (m *Measure) add(v property.Value) {
	m.parts++
	if m.depth++; m.depth > MaxDepth {
		m.deep = true
	}
	if !m.Exceeded() {
		m.addParts(v)
	}
	m.depth--
}

func (m *Measure) addParts(v property.Value) {
	switch v.Kind() {
	case property.KindString:
		s, _ := v.AsString()
		m.text += len(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		for i := 0; i < len(elements) && !m.Exceeded(); i++ {
			m.add(elements[i])
		}
	case property.KindObject:
		o, _ := v.AsObject()
		m.addMap(o)
	case property.KindSecret:
		inner, _ := v.AsSecret()
		m.add(inner)
	case property.KindOutput:
		o, _ := v.AsOutput()
		m.add(o.Value)
	case property.KindAsset:
		a, _ := v.AsAsset()
		m.text += len(a.Text)
	case property.KindArchive:
		a, _ := v.AsArchive()
		m.addMap(a.Assets)
	}
}

func (m *Measure) addMap(o property.Map) {
	for _, e := range o.Entries() {
		m.parts++
		m.text += len(e.Key)
		if m.add(e.Value); m.Exceeded() {
			return
		}
	}
}

// Bytes returns the memory that the value takes, in bytes.
func (m *Measure) Bytes() int64 { return int64(m.text + m.parts*partCost) }
