package adapter

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// textAttribute returns an attribute of type string.
func textAttribute(name string, change func(*tf.Attribute)) *tf.Attribute {
	a := &tf.Attribute{Name: name, Property: name, Type: tf.TypeOf(tftypes.String)}
	change(a)
	return a
}

func optional(a *tf.Attribute) { a.Optional = true }
func computed(a *tf.Attribute) { a.Computed = true }
func both(a *tf.Attribute)     { a.Optional, a.Computed = true, true }

// element are the attributes of nested objects: what a configuration has, and what the provider computes.
func element() *tf.Type {
	return tf.ObjectType(tf.NewAttributes([]*tf.Attribute{textAttribute("key", optional), textAttribute("made", computed), textAttribute("both", both)}))
}

// parsed returns an object of a few properties: a text is a value, "?" is unknown.
func parsed(t *testing.T, s *tf.Attributes, m property.Map) tftypes.Value {
	t.Helper()
	m = m.Transform(func(v property.Value) property.Value {
		if text, _ := v.AsString(); text == "?" {
			return property.Unknown
		}
		return v
	})
	v, err := (&encoder{}).object(s, m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProposedState(t *testing.T) {
	m := func(pairs ...any) property.Value {
		var entries []property.Entry
		for i := 0; i < len(pairs); i += 2 {
			v, isValue := pairs[i+1].(property.Value)
			if !isValue {
				v = property.String(pairs[i+1].(string))
			}
			entries = append(entries, property.Entry{Key: pairs[i].(string), Value: v})
		}
		return property.Object(property.NewMap(entries...))
	}
	a := property.Array
	plain := func(c func(*tf.Attribute)) *tf.Attribute { return textAttribute("x", c) }
	nested := func(typ *tf.Type, c func(*tf.Attribute)) *tf.Attribute {
		n := &tf.Attribute{Name: "x", Property: "x", Type: typ, Nested: true}
		c(n)
		return n
	}
	block := func(typ *tf.Type) *tf.Attribute {
		return &tf.Attribute{Name: "x", Property: "x", Type: typ, Block: true, Optional: true}
	}
	nothing := m()
	for name, test := range map[string]struct {
		attribute           *tf.Attribute
		prior, config, want property.Value
	}{
		"optional, removed":                      {plain(optional), m("x", "old"), nothing, nothing},
		"optional, changed":                      {plain(optional), m("x", "old"), m("x", "new"), m("x", "new")},
		"computed":                               {plain(computed), m("x", "old"), nothing, m("x", "old")},
		"optional and computed, left out":        {plain(both), m("x", "old"), nothing, m("x", "old")},
		"optional and computed, changed":         {plain(both), m("x", "old"), m("x", "?"), m("x", "?")},
		"nested object keeps what is computed":   {nested(element(), optional), m("x", m("key", "a", "made", "1")), m("x", m("key", "b")), m("x", m("key", "b", "made", "1"))},
		"nested object, removed":                 {nested(element(), optional), m("x", m("key", "a", "made", "1")), nothing, nothing},
		"computed nested object that was given":  {nested(element(), both), m("x", m("key", "a", "made", "1")), nothing, nothing},
		"computed nested object that was chosen": {nested(element(), both), m("x", m("made", "1")), nothing, m("x", m("made", "1"))},
		"new nested object":                      {nested(element(), optional), nothing, m("x", m("key", "a")), m("x", m("key", "a"))},
		"unknown nested object":                  {nested(element(), optional), m("x", m("key", "a", "made", "1")), m("x", "?"), m("x", "?")},
		"elements of lists by index": {
			block(tf.ListOf(element())), m("x", a(m("key", "a", "made", "1"), m("key", "b", "made", "2"))),
			m("x", a(m("key", "b"), m("key", "a"), m("key", "c"))), m("x", a(m("key", "b", "made", "1"), m("key", "a", "made", "2"), m("key", "c"))),
		},
		"elements of maps by key": {
			nested(tf.MapOf(element()), optional), m("x", m("k", m("key", "a", "made", "1"), "gone", m("key", "b", "made", "2"))),
			m("x", m("k", m("key", "c"), "new", m("key", "d"))), m("x", m("k", m("key", "c", "made", "1"), "new", m("key", "d"))),
		},
		"elements of sets by what was configured": {
			block(tf.SetOf(element())), m("x", a(m("key", "a", "made", "1"), m("key", "b", "made", "2", "both", "chosen"))),
			m("x", a(m("key", "b"), m("key", "c"), m("key", "a"))), m("x", a(m("key", "b", "made", "2", "both", "chosen"), m("key", "c"), m("key", "a", "made", "1"))),
		},
		"an element of a set is used once": {
			nested(tf.SetOf(element()), optional), m("x", a(m("key", "a", "made", "1", "both", "p"))),
			m("x", a(m("key", "a", "both", "q"), m("key", "a"))), m("x", a(m("key", "a", "both", "q"), m("key", "a", "made", "1", "both", "p"))),
		},
		"no blocks": {block(tf.ListOf(element())), m("x", a(m("key", "a", "made", "1"))), nothing, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			s := tf.NewAttributes([]*tf.Attribute{test.attribute})
			of := func(v property.Value) tftypes.Value {
				m, _ := v.AsObject()
				return parsed(t, s, m)
			}
			got := (&proposer{}).propose(s, of(test.prior), of(test.config))
			if want := of(test.want); !got.Equal(want) {
				t.Errorf("proposed %s\n    want %s", got, want)
			}
		})
	}
}
