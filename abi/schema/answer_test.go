package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

func TestCheckAnswer(t *testing.T) {
	colour := &schema.Type{Kind: schema.KindEnum, Token: "zoo:index:Colour", Values: []property.Value{val("red")}}
	pet := petInputs()
	pet.Properties[1].Type = colour
	for _, test := range []struct {
		name   string
		answer property.Map
		fails  []abi.CheckFailure
	}{
		{"what is required may be missing", obj(), nil},
		{"nothing is there", obj("legs", nil, "names", []any{"a", nil}, "owner", obj("name", nil)), nil},
		{"what exists may be out of bounds", obj("legs", 100, "kind", "pest", "colour", "blue"), nil},
		{"a provider's own names", obj("__meta", 1, "id", "x", "urn", "y", "owner", obj("__meta", true)), nil},
		{"secrets and unknowns", obj("legs", property.Unknown, "tame", property.Secret(val(true))), nil},
		{"undeclared", obj("lags", 4), failures("lags", `no such property; did you mean "legs"?`)},
		{"undeclared in an object", obj("owner", obj("nane", "A")), failures("owner.nane", `no such property in zoo:index/owner:Owner; did you mean "name"?`)},
		{"wrong type", obj("tame", property.Secret(val("yes"))), failures("tame", "expected bool, got string")},
		{"wrong type in a list", obj("names", []any{"a", 1}), failures("names[1]", "expected string, got number")},
		{"wrong type of an enum", obj("colour", 1), failures("colour", `expected one of "red", got number`)},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.fails, pet.CheckAnswer(test.answer)) })
	}
}

func TestCheckAnswerOfAFunction(t *testing.T) {
	text := typ(schema.KindString)
	for _, test := range []struct {
		name   string
		f      schema.Function
		result property.Map
		fails  []abi.CheckFailure
	}{
		{"properties", schema.Function{Result: *petInputs()}, obj("legs", true), failures("legs", "expected integer, got bool")},
		{"a value", schema.Function{Returns: text}, obj("value", "x"), nil},
		{"another value", schema.Function{Returns: text}, obj("value", 1), failures("value", "expected string, got number")},
		{"no value", schema.Function{Returns: text}, obj(), failures("", "expected one value, string")},
		{"a map", schema.Function{Returns: mapOf(text)}, obj("a", "x", "b", "y"), nil},
		{"another map", schema.Function{Returns: mapOf(text)}, obj("a", "x", "b", 1), failures("b", "expected string, got number")},
		{"a map in a property", schema.Function{Returns: mapOf(text)}, obj("map", obj("a", "x")), nil},
		{"anything", schema.Function{Returns: typ(schema.KindAny)}, obj("a", 1, "b", 2), nil},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.fails, test.f.CheckAnswer(test.result)) })
	}
}

// A provider that answers a schema of unions within unions, and a value that fits none,
// keeps nobody busy.
func TestCheckBoundsUnions(t *testing.T) {
	node := &schema.Object{Token: "x:i:Node"}
	nodes := &schema.Type{Kind: schema.KindObject, Object: node}
	node.Properties = []schema.Property{{Name: "next", Type: &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{nodes, nodes, nodes}}}}
	value := val(1)
	for range 50 {
		value = val(obj("next", value))
	}
	answer, _ := value.AsObject()
	require.NotEmpty(t, node.CheckAnswer(answer))
}

// A value that fits no alternative of a union, and was plainly meant for one, is told
// what that one lacks.
func TestCheckUnionOfObjects(t *testing.T) {
	kind := func(name string) schema.Property {
		return schema.Property{Name: "kind", Type: typ(schema.KindString), Const: val(name), Required: true}
	}
	object := func(token string, properties ...schema.Property) *schema.Type {
		return &schema.Type{Kind: schema.KindObject, Object: &schema.Object{Token: token, Properties: properties}}
	}
	size := schema.Property{Name: "size", Type: typ(schema.KindInteger)}
	file, disk := object("x:i:File", kind("file"), size), object("x:i:Disk", kind("disk"), size)
	union := func(of ...*schema.Type) *schema.Object {
		return &schema.Object{Properties: []schema.Property{{Name: "p", Type: &schema.Type{Kind: schema.KindUnion, OneOf: of}}}}
	}
	for _, test := range []struct {
		name  string
		o     *schema.Object
		given any
		fails []abi.CheckFailure
	}{
		{"it fits", union(file, disk), obj("kind", "disk", "size", 1), nil},
		{"by its constant", union(file, disk), obj("kind", "disk", "size", "x"), failures("p.size", "expected integer, got string")},
		{"the only object", union(typ(schema.KindString), file), obj("kind", "file", "siz", 1), failures("p.siz", `no such property in x:i:File; did you mean "size"?`)},
		{"of no constant", union(file, disk), obj("kind", "tape"), failures("p", "expected object x:i:File or object x:i:Disk, got object")},
		{"no object", union(file, disk), "x", failures("p", "expected object x:i:File or object x:i:Disk, got string")},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, failed := test.o.Check(obj("p", test.given))
			require.Equal(t, test.fails, failed)
		})
	}
}
