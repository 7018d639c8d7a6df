package conversion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/conversion"
)

const document = `{"name": "p", "version": "1.0.0",
	"types": {
		"p:index:Part": {"type": "object", "properties": {"n": {"type": "integer"}}},
		"p:index:Level": {"type": "integer", "enum": [{"value": 1}, {"value": 2}]}
	},
	"provider": {"inputProperties": {
		"text": {"type": "string"}, "yes": {"type": "boolean"}, "count": {"type": "integer"}, "ratio": {"type": "number"},
		"any": {"$ref": "pulumi.json#/Any"},
		"list": {"type": "array", "items": {"type": "number"}},
		"map": {"type": "object", "additionalProperties": {"type": "boolean"}},
		"part": {"$ref": "#/types/p:index:Part"},
		"level": {"$ref": "#/types/p:index:Level"},
		"numberOrText": {"oneOf": [{"type": "number"}, {"type": "string"}]},
		"numberOrFlag": {"oneOf": [{"type": "number"}, {"type": "boolean"}]}
	}}}`

func config(t *testing.T) *schema.Object {
	p, err := schemajson.Parse([]byte(document))
	require.NoError(t, err)
	return &p.Config
}

func TestProperties(t *testing.T) {
	o := config(t)
	text, number, truth := property.String, property.Number, property.Bool
	list := property.Array
	object := func(key string, v property.Value) property.Value {
		return property.Object(property.NewMap(property.Entry{Key: key, Value: v}))
	}
	output := func(v property.Value) property.Value {
		return property.OutputOf(property.Output{Value: v, Secret: true, Dependencies: []string{"urn"}})
	}
	for _, c := range []struct {
		key         string
		given, want property.Value
	}{
		{"text", number(1.5), text("1.5")},
		{"text", number(1500000), text("1500000")},
		{"text", truth(false), text("false")},
		{"text", text("x"), text("x")},
		{"yes", text("true"), truth(true)},
		{"yes", text("false"), truth(false)},
		{"count", text("42"), number(42)},
		{"ratio", text("-1.5e2"), number(-150)},
		{"list", list(text("1"), number(2), property.Secret(text("3"))), list(number(1), number(2), property.Secret(number(3)))},
		{"map", object("a", text("true")), object("a", truth(true))},
		{"part", object("n", text("7")), object("n", number(7))},
		{"level", text("2"), number(2)},
		{"numberOrFlag", text("true"), truth(true)},
		{"count", property.Secret(text("42")), property.Secret(number(42))},
		{"count", output(text("42")), output(number(42))},

		// What the schema takes, or nothing can be made of, stays as it is.
		{"numberOrText", text("1"), text("1")},
		{"any", text("1"), text("1")},
		{"other", text("1"), text("1")},
		{"yes", text("yes"), text("yes")},
		{"yes", text("TRUE"), text("TRUE")},
		{"yes", number(1), number(1)},
		{"count", text(""), text("")},
		{"count", text("1.5"), text("1.5")},
		{"count", text("0x10"), text("0x10")},
		{"count", text("1_000"), text("1_000")},
		{"count", text("NaN"), text("NaN")},
		{"count", text("1e999"), text("1e999")},
		{"count", truth(true), truth(true)},
		{"level", text("3"), text("3")},
		{"list", text("1"), text("1")},
		{"map", list(text("1")), list(text("1"))},
		{"part", object("m", text("7")), object("m", text("7"))},
		{"count", property.Unknown, property.Unknown},
		{"count", property.Null, property.Null},
	} {
		got := conversion.Properties(o, property.NewMap(property.Entry{Key: c.key, Value: c.given})).Get(c.key)
		require.Equal(t, c.want, got, "%s: %v", c.key, c.given)
	}
}
