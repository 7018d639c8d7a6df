package conformance

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// generator makes up values from a schema. The same seed, subject, and number of the
// case give the same values, whatever else is tested.
type generator struct {
	random     *rand.Rand
	references bool
	// depth counts the objects around the value.
	depth int
	// optional says whether an optional property is given.
	optional func() bool
}

// maxDepth ends types that contain themselves.
const maxDepth = 4

func (r *run) generator(subject string, number int) *generator {
	h := fnv.New64a()
	h.Write([]byte(subject))
	g := &generator{
		random:     rand.New(rand.NewPCG(r.options.Seed, h.Sum64()+uint64(number))),
		references: r.takes(abi.FeaturesResourceReferences),
	}
	g.optional = func() bool { return g.random.IntN(2) == 0 }
	return g
}

// casesOf makes up cases for the properties of an object: what is required, all that
// there is, some of it, and all of it in secret.
func (r *run) casesOf(subject string, o *schema.Object) []Case {
	var cases []Case
	for i := range r.options.Generated {
		c := r.caseOf(subject, o, i)
		cases = append(cases, c)
		if len(o.Properties) == 0 {
			return cases // they would all be the same
		}
	}
	return append(cases, secretCase(cases[min(1, len(cases)-1)]))
}

// caseOf makes up the case with that number.
func (r *run) caseOf(subject string, o *schema.Object, number int) Case {
	name := "random"
	switch number {
	case 0:
		name = "minimal"
	case 1:
		name = "complete"
	}
	again := func(attempt int) property.Map {
		g := r.generator(subject, number+attempt*1000)
		if number < 2 {
			g.optional = func() bool { return number == 1 }
		}
		return g.object(o)
	}
	return Case{Name: name, Inputs: again(0), again: again}
}

// secretCase is a case with all of its inputs in secret.
func secretCase(c Case) Case {
	s := Case{Name: "secret", Inputs: allSecret(c.Inputs), written: c.written}
	if c.written {
		s.Name = c.Name + ", in secret"
	}
	if c.again != nil {
		s.again = func(attempt int) property.Map { return allSecret(c.again(attempt)) }
	}
	return s
}

func allSecret(m property.Map) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for name, v := range m.All() {
		entries = append(entries, property.Entry{Key: name, Value: property.Secret(v)})
	}
	return property.NewMap(entries...)
}

func (g *generator) object(o *schema.Object) property.Map {
	var entries []property.Entry
	g.depth++
	for i := range o.Properties {
		p := &o.Properties[i]
		needed := p.Required && !p.HasDefault()
		if needed || g.depth < maxDepth && g.optional() {
			entries = append(entries, property.Entry{Key: p.Name, Value: g.property(p)})
		}
	}
	g.depth--
	return property.NewMap(entries...)
}

func (g *generator) property(p *schema.Property) property.Value {
	if !p.Const.IsNull() {
		return p.Const
	}
	if len(p.OneOf) > 0 {
		return p.OneOf[g.random.IntN(len(p.OneOf))]
	}
	if p.Minimum != nil || p.Maximum != nil {
		return property.Number(g.number(p))
	}
	return g.value(p.Type)
}

// number is within the bounds of a property, and small where they allow it.
func (g *generator) number(p *schema.Property) float64 {
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
	return low + float64(g.random.IntN(int(high-low)+1))
}

func (g *generator) value(t *schema.Type) property.Value {
	switch t.Kind {
	case schema.KindBool:
		return property.Bool(g.random.IntN(2) == 0)
	case schema.KindInteger:
		return property.Number(float64(1 + g.random.IntN(9)))
	case schema.KindNumber:
		return property.Number(float64(1+g.random.IntN(9)) + 0.5)
	case schema.KindArray:
		elements := make([]property.Value, 1+g.random.IntN(2))
		for i := range elements {
			elements[i] = g.value(t.Element)
		}
		return property.Array(elements...)
	case schema.KindMap:
		var entries []property.Entry
		for range 1 + g.random.IntN(2) {
			entries = append(entries, property.Entry{Key: g.word(), Value: g.value(t.Element)})
		}
		return property.Object(property.NewMap(entries...))
	case schema.KindObject:
		return property.Object(g.object(t.Object))
	case schema.KindEnum:
		return t.Values[g.random.IntN(len(t.Values))]
	case schema.KindAsset:
		return property.AssetOf(textAsset(g.word()))
	case schema.KindArchive:
		return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(
			property.Entry{Key: g.word() + ".txt", Value: property.AssetOf(textAsset(g.word()))},
		)})
	case schema.KindResource:
		if !g.references {
			return property.String(g.word())
		}
		return property.Reference(property.ResourceReference{URN: string(urnOf(cmp.Or(t.ResourceToken(), "test:index:Thing"))), HasID: true, ID: g.word()})
	case schema.KindUnion:
		return g.value(t.OneOf[g.random.IntN(len(t.OneOf))])
	default: // strings, and anything
		return property.String(g.word())
	}
}

// word is a text of eight letters: nothing else in a state is it by accident.
func (g *generator) word() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 8)
	for i := range b {
		b[i] = letters[g.random.IntN(len(letters))]
	}
	return string(b)
}

func textAsset(text string) property.Asset {
	sum := sha256.Sum256([]byte(text))
	return property.Asset{Hash: hex.EncodeToString(sum[:]), Source: property.SourceText, Text: text}
}
