package yamlprogram

import (
	"fmt"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/expr"
)

// A program is small, and what it computes need not be: a list of twice the list before it has
// a million parts after twenty lines. Values are bounded by what can be passed to a provider.
const (
	// maxText is the text in one value, in bytes.
	maxText = property.DefaultSize
	// maxParts is the number of values, keys, and wrappers in one value.
	maxParts = property.DefaultItems
	// maxMade is what functions and texts of one run make in all, in bytes: the values of all
	// variables are kept until the end.
	maxMade = 16 * maxText
	// partCost is the memory that one part of a value takes, in bytes.
	partCost = 64
)

// measure is how large a value is.
type measure struct {
	text, parts int
}

// measureOf measures a value, as far as it is within the limits: parts of a value may be
// shared, so that looking at all of them could take for ever.
func measureOf(v property.Value) measure {
	var m measure
	m.add(v)
	return m
}

func (m *measure) exceeded() bool { return m.parts > maxParts || m.text > maxText }

func (m *measure) add(v property.Value) {
	m.parts++
	if m.exceeded() {
		return
	}
	switch v.Kind() {
	case property.KindString:
		s, _ := v.AsString()
		m.text += len(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		for i := 0; i < len(elements) && !m.exceeded(); i++ {
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

func (m *measure) addMap(o property.Map) {
	for _, e := range o.Entries() {
		m.parts++
		m.text += len(e.Key)
		if m.add(e.Value); m.exceeded() {
			return
		}
	}
}

// made counts what a run makes.
type made struct{ bytes atomic.Int64 }

// bounded reports whether a value is one that the program may have. What is wrong is reported.
func (e *evaluator) bounded(x expr.Expr, m measure) bool {
	if m.exceeded() {
		e.errorf(x, "%s", tooLarge)
		return false
	}
	switch x.(type) {
	case *expr.Text, *expr.Call:
		if e.made.bytes.Add(int64(m.text+m.parts*partCost)) > maxMade {
			e.errorf(x, "the program computes more than %d MiB in all", maxMade>>20)
			return false
		}
	}
	return true
}

// tooLarge says that a value is.
var tooLarge = fmt.Sprintf("the value is too large: it would have more than %d parts, or more than %d MiB of text, which is what can be passed to a provider", maxParts, maxText>>20)
