package difftest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

// questions generates inputs from a schema: mostly such as a user might give, sometimes
// wrong in every way that a value can be.
type questions struct {
	// samples are right inputs, by the token of their resource or function.
	samples map[string]property.Map
	// words are likely values of the properties of a name.
	words map[string][]any
	// tidy makes inputs more likely to fit together; nil does nothing.
	tidy func(t *rapid.T, token string, inputs property.Map) property.Map
	// confine keeps inputs to what the twins can be compared in; nil does nothing.
	confine func(inputs property.Map) property.Map
	// ids are likely IDs for an import. Where there is a confine, there are no others.
	ids []string
}

// rarely is true once in sixteen times.
func (questions) rarely(t *rapid.T) bool { return rapid.IntRange(0, 15).Draw(t, "rarely") == 15 }

// hardlyEver is true once in 256 times.
func (questions) hardlyEver(t *rapid.T) bool {
	return rapid.IntRange(0, 255).Draw(t, "hardly ever") == 255
}

// inputs returns those of a resource or function: near to what is right, or any.
func (q *questions) inputs(t *rapid.T, token string, o *schema.Object) property.Map {
	if rapid.Bool().Draw(t, "near") {
		return q.change(t, token, o, q.samples[token])
	}
	return q.tidied(t, token, q.object(t, o))
}

func (q *questions) tidied(t *rapid.T, token string, inputs property.Map) property.Map {
	if q.tidy != nil && !q.rarely(t) {
		inputs = q.tidy(t, token, inputs)
	}
	return q.confined(inputs)
}

func (q *questions) confined(inputs property.Map) property.Map {
	if q.confine == nil {
		return inputs
	}
	return q.confine(inputs)
}

func (q *questions) id(t *rapid.T, more ...string) string {
	likely := rapid.SampledFrom(slices.Concat(q.ids, more))
	if q.confine == nil {
		likely = rapid.OneOf(likely, rapid.StringMatching(`[ -~]{0,8}`))
	}
	return likely.Draw(t, "id")
}

// change returns inputs with up to two other properties.
func (q *questions) change(t *rapid.T, token string, o *schema.Object, inputs property.Map) property.Map {
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		p := &o.Properties[rapid.IntRange(0, len(o.Properties)-1).Draw(t, "property")]
		if !p.Required && rapid.Bool().Draw(t, "remove") || q.rarely(t) {
			inputs = inputs.Without(p.Name)
		} else {
			inputs = inputs.With(p.Name, q.property(t, p))
		}
	}
	return q.tidied(t, token, inputs)
}

func (q *questions) object(t *rapid.T, o *schema.Object) property.Map {
	var entries []property.Entry
	for i := range o.Properties {
		p := &o.Properties[i]
		given := rapid.IntRange(0, 2).Draw(t, p.Name+" given") == 0
		if p.Required {
			given = !q.rarely(t)
		}
		if given {
			entries = append(entries, property.Entry{Key: p.Name, Value: q.property(t, p)})
		}
	}
	m := property.NewMap(entries...)
	if q.hardlyEver(t) {
		m = m.With(rapid.StringMatching(`[a-zA-Z]{1,8}`).Draw(t, "name"), q.anything(t, 2))
	}
	return m
}

// property returns a value of a property, sometimes with something around it.
func (q *questions) property(t *rapid.T, p *schema.Property) property.Value {
	v := q.value(t, p)
	switch rapid.IntRange(0, 40).Draw(t, "around") {
	case 37, 38:
		return property.Secret(v)
	case 39:
		return property.Unknown
	case 40:
		return property.OutputOf(property.Output{Value: v, Dependencies: []string{string(urnOf("a:b:c"))}})
	}
	return v
}

func (q *questions) value(t *rapid.T, p *schema.Property) property.Value {
	if q.hardlyEver(t) {
		return q.anything(t, 2)
	}
	if words := q.words[p.Name]; len(words) > 0 && !q.rarely(t) {
		return pt.Of(rapid.SampledFrom(words).Draw(t, p.Name))
	}
	if len(p.OneOf) > 0 && !q.rarely(t) {
		return rapid.SampledFrom(p.OneOf).Draw(t, p.Name)
	}
	return q.typed(t, p.Type)
}

func (q *questions) typed(t *rapid.T, typ *schema.Type) property.Value {
	switch typ.Kind {
	case schema.KindBool:
		return property.Bool(rapid.Bool().Draw(t, "bool"))
	case schema.KindInteger:
		return property.Number(float64(rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(-2, 300)).Draw(t, "integer")))
	case schema.KindNumber:
		return property.Number(rapid.Float64Range(-10, 10).Draw(t, "number"))
	case schema.KindString:
		return property.String(text(t))
	case schema.KindArray:
		elements := make([]property.Value, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range elements {
			elements[i] = q.typed(t, typ.Element)
		}
		return property.Array(elements...)
	case schema.KindMap:
		var entries []property.Entry
		for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z.]{1,3}`), 0, 3, rapid.ID).Draw(t, "keys") {
			entries = append(entries, property.Entry{Key: key, Value: q.typed(t, typ.Element)})
		}
		return property.Object(property.NewMap(entries...))
	case schema.KindObject:
		return property.Object(q.object(t, typ.Object))
	}
	return q.anything(t, 2)
}

// text returns what people write, and what they do not.
func text(t *rapid.T) string {
	return rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,8}`), rapid.StringMatching(`[a-z0-9-]{1,8}`), rapid.String()).Draw(t, "text")
}

// anything returns a value of any kind.
func (q *questions) anything(t *rapid.T, depth int) property.Value {
	kinds := []string{"null", "bool", "number", "string", "unknown", "asset"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "secret", "output", "archive")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return property.Bool(rapid.Bool().Draw(t, "bool"))
	case "number":
		return property.Number(rapid.Float64().Draw(t, "number"))
	case "string":
		return property.String(text(t))
	case "unknown":
		return property.Unknown
	case "asset":
		return property.AssetOf(property.Asset{Source: property.SourceText, Text: text(t)})
	case "array":
		elements := make([]property.Value, rapid.IntRange(0, 2).Draw(t, "length"))
		for i := range elements {
			elements[i] = q.anything(t, depth-1)
		}
		return property.Array(elements...)
	case "object":
		var entries []property.Entry
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a", "length", "algorithm", "path", "content", "privateKeyPem"}), 0, 2, rapid.ID).Draw(t, "keys") {
			entries = append(entries, property.Entry{Key: key, Value: q.anything(t, depth-1)})
		}
		return property.Object(property.NewMap(entries...))
	case "secret":
		return property.Secret(q.anything(t, depth-1))
	case "output":
		return property.OutputOf(property.Output{Value: q.anything(t, depth-1), Secret: true})
	case "archive":
		return property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: text(t)})
	}
	return property.Null
}
