// Package fakevalue generates values for conformance tests: values that fit a
// schema, changed and smaller ones, and values that break the schema.
package fakevalue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
)

// Generator generates values. The same random numbers give the same values.
type Generator struct {
	Random *rand.Rand
	// Optional reports whether to set an optional property.
	Optional func() bool
	// References allows resource references. Without it, a resource is its ID.
	References bool

	// Texts are the texts for a property, among which each has the same chance as a random word; nil
	// for random words alone.
	Texts func(p *schema.Property) []string

	// depth is the number of objects around the value.
	depth int
	// texts are those for the innermost property around the value.
	texts []string
}

// maxDepth ends recursive types.
const maxDepth = 4

// Object generates the properties of an object.
func (g *Generator) Object(o *schema.Object) property.Map {
	var entries []property.Entry
	g.depth++
	for i := range o.Properties {
		p := &o.Properties[i]
		needed := p.Required && !p.HasDefault()
		if needed || g.depth < maxDepth && g.Optional() {
			entries = append(entries, property.Entry{Key: p.Name, Value: g.Property(p)})
		}
	}
	g.depth--
	return property.NewMap(entries...)
}

// Property generates the value of a property.
func (g *Generator) Property(p *schema.Property) property.Value {
	if !p.Const.IsNull() {
		return p.Const
	}
	if len(p.OneOf) > 0 {
		return p.OneOf[g.Random.IntN(len(p.OneOf))]
	}
	if p.Minimum != nil || p.Maximum != nil {
		return property.Number(g.number(p))
	}
	if g.Texts != nil {
		outer := g.texts
		defer func() { g.texts = outer }()
		g.texts = g.Texts(p)
	}
	return g.value(p.Type)
}

// number returns a number within the bounds of a property, and a small one if possible.
func (g *Generator) number(p *schema.Property) float64 {
	low, high := 1.0, 9.0
	if p.Minimum != nil {
		low = math.Ceil(*p.Minimum)
		high = low + 8
	}
	if p.Maximum != nil {
		high = min(high, math.Floor(*p.Maximum))
		if p.Minimum == nil {
			low = min(low, high)
		}
	}
	if high < low {
		return *p.Minimum // no integer lies between the bounds
	}
	return low + float64(g.Random.IntN(int(high-low)+1))
}

func (g *Generator) value(t *schema.Type) property.Value {
	switch t.Kind {
	case schema.KindBool:
		return property.Bool(g.Random.IntN(2) == 0)
	case schema.KindInteger:
		return property.Number(float64(1 + g.Random.IntN(9)))
	case schema.KindNumber:
		return property.Number(float64(1+g.Random.IntN(9)) + 0.5)
	case schema.KindArray:
		elements := make([]property.Value, 1+g.Random.IntN(2))
		for i := range elements {
			elements[i] = g.value(t.Element)
		}
		return property.Array(elements...)
	case schema.KindMap:
		var entries []property.Entry
		for range 1 + g.Random.IntN(2) {
			entries = append(entries, property.Entry{Key: g.word(), Value: g.value(t.Element)})
		}
		return property.Object(property.NewMap(entries...))
	case schema.KindObject:
		return property.Object(g.Object(t.Object))
	case schema.KindEnum:
		return t.Values[g.Random.IntN(len(t.Values))]
	case schema.KindAsset:
		return property.AssetOf(TextAsset(g.word()))
	case schema.KindArchive:
		return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(
			property.Entry{Key: g.word() + ".txt", Value: property.AssetOf(TextAsset(g.word()))},
		)})
	case schema.KindResource:
		if !g.References {
			return property.String(g.word())
		}
		return property.Reference(property.ResourceReference{URN: string(urn.New("test", "fake", "", cmp.Or(t.ResourceToken(), "test:index:Thing"), "thing")), HasID: true, ID: g.word()})
	case schema.KindUnion:
		return g.value(t.OneOf[g.Random.IntN(len(t.OneOf))])
	default: // strings, and anything
		return property.String(g.text())
	}
}

// text returns one of the texts for the property, or a word.
func (g *Generator) text() string {
	if n := len(g.texts); n > 0 {
		if i := g.Random.IntN(n + 1); i < n {
			return g.texts[i]
		}
	}
	return g.word()
}

// word returns eight letters, so that no other text in a state equals it by accident.
func (g *Generator) word() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 8)
	for i := range b {
		b[i] = letters[g.Random.IntN(len(letters))]
	}
	return string(b)
}

// TextAsset returns an asset with a text.
func TextAsset(text string) property.Asset {
	sum := sha256.Sum256([]byte(text))
	return property.Asset{Hash: hex.EncodeToString(sum[:]), Source: property.SourceText, Text: text}
}
