package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

func typ(kind schema.Kind) *schema.Type { return &schema.Type{Kind: kind} }

func listOf(element *schema.Type) *schema.Type {
	return &schema.Type{Kind: schema.KindArray, Element: element}
}

func mapOf(element *schema.Type) *schema.Type {
	return &schema.Type{Kind: schema.KindMap, Element: element}
}

func ref[T any](v T) *T { return &v }

func obj(pairs ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = val(pairs[i+1])
	}
	return property.MapOf(m)
}

func val(v any) property.Value {
	switch v := v.(type) {
	case nil:
		return property.Null
	case bool:
		return property.Bool(v)
	case int:
		return property.Number(float64(v))
	case float64:
		return property.Number(v)
	case string:
		return property.String(v)
	case property.Map:
		return property.Object(v)
	case []any:
		elements := make([]property.Value, len(v))
		for i := range v {
			elements[i] = val(v[i])
		}
		return property.Array(elements...)
	}
	return v.(property.Value)
}

// failures returns the failures of these paths and reasons, in turn.
func failures(pairs ...string) []abi.CheckFailure {
	var out []abi.CheckFailure
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, abi.CheckFailure{Path: pairs[i], Reason: pairs[i+1]})
	}
	return out
}

// petInputs has a property of each kind that checks differ by.
func petInputs() *schema.Object {
	owner := &schema.Object{Token: "zoo:index/owner:Owner", Properties: []schema.Property{
		{Name: "name", Type: typ(schema.KindString), Required: true},
		{Name: "pin", Type: typ(schema.KindString), Secret: true},
		{Name: "visits", Type: typ(schema.KindInteger), Default: property.Number(1)},
	}}
	return &schema.Object{Properties: []schema.Property{
		{Name: "anything", Type: &schema.Type{}},
		{Name: "colour", Type: typ(schema.KindString), OneOf: []property.Value{val("red"), val("green")}},
		{Name: "keepers", Type: mapOf(typ(schema.KindString)), Replace: true},
		{Name: "kind", Type: typ(schema.KindString), Const: val("pet")},
		{Name: "legs", Type: typ(schema.KindInteger), Required: true, Minimum: ref(0.0), Maximum: ref(8.0)},
		{Name: "names", Type: listOf(typ(schema.KindString))},
		{Name: "owner", Type: &schema.Type{Kind: schema.KindObject, Object: owner}},
		{Name: "password", Type: typ(schema.KindString), Secret: true},
		{Name: "photo", Type: typ(schema.KindAsset)},
		{Name: "size", Type: &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{typ(schema.KindInteger), typ(schema.KindString)}}},
		{Name: "tame", Type: typ(schema.KindBool), Default: property.Bool(true)},
		{Name: "weight", Type: typ(schema.KindNumber)},
	}}
}

func TestCheckAccepts(t *testing.T) {
	asset := property.AssetOf(property.Asset{Source: property.SourceText, Text: "x"})
	for _, test := range []struct {
		name          string
		inputs, wants property.Map
	}{
		{"defaults are applied", obj("legs", 4), obj("legs", 4, "tame", true)},
		{"null is absent", obj("legs", 4, "names", nil, "tame", nil), obj("legs", 4, "tame", true)},
		{"secret null is absent", obj("legs", 4, "names", property.Secret(property.Null)), obj("legs", 4, "tame", true)},
		{"values of each type",
			obj("legs", 4, "tame", false, "weight", 2.5, "names", []any{"a"}, "keepers", obj("k", "v"), "photo", asset),
			obj("legs", 4, "tame", false, "weight", 2.5, "names", []any{"a"}, "keepers", obj("k", "v"), "photo", asset)},
		{"nested defaults and secrets",
			obj("legs", 4, "owner", obj("name", "Ann", "pin", "1")),
			obj("legs", 4, "tame", true, "owner", obj("name", "Ann", "visits", 1, "pin", property.Secret(val("1"))))},
		{"what is always secret becomes so", obj("legs", 4, "password", "x"),
			obj("legs", 4, "tame", true, "password", property.Secret(val("x")))},
		{"secrets are kept", obj("legs", property.Secret(val(4)), "names", []any{property.Secret(val("a"))}),
			obj("legs", property.Secret(val(4)), "tame", true, "names", []any{property.Secret(val("a"))})},
		{"unknowns are kept", obj("legs", property.Unknown, "owner", property.Unknown, "colour", property.Secret(property.Unknown)),
			obj("legs", property.Unknown, "tame", true, "owner", property.Unknown, "colour", property.Secret(property.Unknown))},
		{"outputs are kept", obj("legs", property.OutputOf(property.Output{Value: val(4), Dependencies: []string{"u"}})),
			obj("legs", property.OutputOf(property.Output{Value: val(4), Dependencies: []string{"u"}}), "tame", true)},
		{"any value", obj("legs", 4, "anything", obj("a", []any{nil, 1})), obj("legs", 4, "tame", true, "anything", obj("a", []any{nil, 1}))},
		{"each alternative of a union", obj("legs", 4, "size", "big"), obj("legs", 4, "tame", true, "size", "big")},
	} {
		t.Run(test.name, func(t *testing.T) {
			checked, failed := petInputs().Check(test.inputs)
			require.Empty(t, failed)
			require.Equal(t, test.wants, checked)

			again, failed := petInputs().Check(checked)
			require.Empty(t, failed)
			require.Equal(t, checked, again, "checked inputs, checked again, are unchanged")
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		inputs property.Map
		fails  []abi.CheckFailure
	}{
		{"missing", obj(), failures("legs", "required property is missing; expected integer")},
		{"null where required", obj("legs", nil), failures("legs", "required property is missing; expected integer")},
		{"misspelt", obj("legs", 4, "colur", "red"), failures("colur", `no such property; did you mean "colour"?`)},
		{"unheard of", obj("legs", 4, "zzzzzz", 1), failures("zzzzzz", "no such property; there are anything, colour, keepers, kind, legs, names, owner, password, photo, size, tame, weight")},
		{"wrong type", obj("legs", "four"), failures("legs", "expected integer, got string")},
		{"secret of a wrong type", obj("legs", property.Secret(val("four"))), failures("legs", "expected integer, got string")},
		{"fraction", obj("legs", 2.5), failures("legs", "expected integer, got 2.5")},
		{"element", obj("legs", 4, "names", []any{"a", 7}), failures("names[1]", "expected string, got number")},
		{"null element", obj("legs", 4, "names", []any{nil}), failures("names[0]", "expected string, got null")},
		{"scalar for array", obj("legs", 4, "names", "a"), failures("names", "expected array of string, got string")},
		{"value in a map", obj("legs", 4, "keepers", obj("a b", true)), failures(`keepers["a b"]`, "expected string, got bool")},
		{"scalar for map", obj("legs", 4, "keepers", 1), failures("keepers", "expected map of string, got number")},
		{"scalar for object", obj("legs", 4, "owner", "Ann"), failures("owner", "expected object zoo:index/owner:Owner, got string")},
		{"nested", obj("legs", 4, "owner", obj("nane", "Ann")), failures(
			"owner.nane", `no such property in zoo:index/owner:Owner; did you mean "name"?`,
			"owner.name", "required property is missing; expected string")},
		{"below the minimum", obj("legs", -1), failures("legs", "must be at least 0")},
		{"above the maximum", obj("legs", 9), failures("legs", "must be at most 8")},
		{"other value", obj("legs", 4, "colour", "blue"), failures("colour", `must be one of "red", "green"`)},
		{"other constant", obj("legs", 4, "kind", "pest"), failures("kind", `must be "pet"`)},
		{"no alternative", obj("legs", 4, "size", true), failures("size", "expected integer or string, got bool")},
		{"several", obj("legs", true, "names", 1), failures(
			"legs", "expected integer, got bool", "names", "expected array of string, got number")},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, failed := petInputs().Check(test.inputs)
			require.Equal(t, test.fails, failed)
		})
	}
}

// TestCheckOfManyProperties: of any number of properties, each is found, defaulted where it
// is not given or null, and missed where it has no default.
func TestCheckOfManyProperties(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 40, 63, 64, 65, 100} {
		var o schema.Object
		given, want := map[string]property.Value{}, map[string]property.Value{}
		for i := range n {
			name := fmt.Sprintf("property%03d", i)
			p := schema.Property{Name: name, Type: typ(schema.KindInteger), Required: true}
			want[name] = val(i)
			switch i % 3 {
			case 0:
				given[name] = val(i)
			case 1:
				p.Default = val(i)
			case 2:
				p.Default, given[name] = val(i), property.Null
			}
			o.Properties = append(o.Properties, p)
		}
		checked, failed := o.Check(property.MapOf(given))
		require.Empty(t, failed)
		require.Equal(t, property.MapOf(want), checked)
		for i := range n {
			require.Same(t, &o.Properties[i], o.Property(o.Properties[i].Name))
		}
		require.Nil(t, o.Property("property"))

		last := o.Properties[n-1].Name
		o.Properties[n-1].Default = property.Null
		delete(given, last)
		_, failed = o.Check(property.MapOf(given))
		require.Equal(t, failures(last, "required property is missing; expected integer"), failed)
	}
}

func TestCheckBoundsFailures(t *testing.T) {
	many := make([]any, 1000)
	for i := range many {
		many[i] = i
	}
	_, failed := petInputs().Check(obj("legs", 4, "names", many))
	require.Len(t, failed, 100)
}

func TestCheckConfigTakesText(t *testing.T) {
	config := schema.Object{Properties: []schema.Property{
		{Name: "flag", Type: typ(schema.KindBool)},
		{Name: "port", Type: typ(schema.KindInteger), Maximum: ref(65535.0)},
		{Name: "ports", Type: listOf(typ(schema.KindInteger))},
		{Name: "text", Type: typ(schema.KindString)},
	}}
	checked, failed := config.CheckConfig(obj("flag", "true", "port", property.Secret(val("80")), "ports", []any{"1"}, "text", "80"))
	require.Empty(t, failed)
	require.Equal(t, obj("flag", true, "port", property.Secret(val(80)), "ports", []any{1}, "text", "80"), checked)

	_, failed = config.CheckConfig(obj("flag", "yes", "port", "99999"))
	require.Equal(t, failures(
		"flag", "expected bool, got string", "port", "must be at most 65535"), failed)
}

func TestNearest(t *testing.T) {
	known := []string{"length", "prefix", "separator", "keepers", "id"}
	for name, want := range map[string]string{
		"lenght": "length", "Length": "length", "seperator": "separator", "keeper": "keepers",
		"is": "id", "x": "", "": "", "completelyDifferent": "",
	} {
		require.Equal(t, want, schema.Nearest(name, known), name)
	}
}

// What is as it is to be is not copied: a check of inputs that were checked before, as most
// are, costs what looking at them does.
func TestCheckKeepsWhatFits(t *testing.T) {
	_, inputs := bag(1 << 10)
	r, _ := bag(1 << 10)
	checked, failed := r.Inputs.Check(inputs)
	require.Empty(t, failed)
	again, failed := r.Inputs.Check(checked)
	require.Empty(t, failed)
	require.Same(t, &checked.Entries()[0], &again.Entries()[0])
}
