package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// referring has a property of each kind that a reference can be given for.
func referring() *schema.Object {
	tree := &schema.Type{Kind: schema.KindResource, Token: "/park/v1.0.0/schema.json#/resources/park:index%2Ftree:Tree"}
	return &schema.Object{Properties: []schema.Property{
		{Name: "any", Type: &schema.Type{}},
		{Name: "count", Type: typ(schema.KindInteger)},
		{Name: "ids", Type: listOf(typ(schema.KindString))},
		{Name: "pets", Type: listOf(&schema.Type{Kind: schema.KindResource, Token: "zoo:index/pet:Pet"})},
		{Name: "resource", Type: typ(schema.KindResource)},
		{Name: "spot", Type: &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{typ(schema.KindString), tree}}},
		{Name: "tree", Type: tree},
	}}
}

func TestCheckReferences(t *testing.T) {
	reference := func(typ, id string) property.Value {
		return property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::proj::" + typ + "::r", HasID: true, ID: id})
	}
	pet, newPet, tree := reference("zoo:index/pet:Pet", "pet-1"), reference("zoo:index/pet:Pet", ""), reference("park:index/tree:Tree", "tree-1")
	component := property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::proj::a:b:C::c"})
	for _, test := range []struct {
		name          string
		inputs, wants property.Map
		fails         []abi.CheckFailure
	}{
		{name: "of the type", inputs: obj("pets", []any{pet, newPet}, "tree", tree, "resource", component),
			wants: obj("pets", []any{pet, newPet}, "tree", tree, "resource", component)},
		{name: "text for a reference", inputs: obj("pets", []any{"pet-1", property.Unknown}), wants: obj("pets", []any{"pet-1", property.Unknown})},
		{name: "a reference for text", inputs: obj("ids", []any{pet, component, newPet, property.Secret(pet)}),
			wants: obj("ids", []any{"pet-1", "urn:pulumi:dev::proj::a:b:C::c", property.Unknown, property.Secret(val("pet-1"))})},
		{name: "any value", inputs: obj("any", obj("of", pet)), wants: obj("any", obj("of", pet))},
		{name: "text or a reference", inputs: obj("spot", tree), wants: obj("spot", tree)},
		{name: "text or another reference", inputs: obj("spot", pet), wants: obj("spot", "pet-1")},
		{name: "in an output", inputs: obj("ids", property.OutputOf(property.Output{Value: val([]any{pet}), Dependencies: []string{"u"}})),
			wants: obj("ids", property.OutputOf(property.Output{Value: val([]any{"pet-1"}), Dependencies: []string{"u"}}))},
		{name: "of another type", inputs: obj("pets", []any{tree}), fails: failures(
			"pets[0]", "expected resource zoo:index/pet:Pet, got a resource of type park:index/tree:Tree")},
		{name: "of another type than another package's", inputs: obj("tree", pet), fails: failures(
			"tree", "expected resource park:index/tree:Tree, got a resource of type zoo:index/pet:Pet")},
		{name: "a number for a reference", inputs: obj("resource", 1), fails: failures("resource", "expected resource, got number")},
		{name: "a reference for a number", inputs: obj("count", pet), fails: failures("count", "expected integer, got resource reference")},
	} {
		t.Run(test.name, func(t *testing.T) {
			checked, failed := referring().Check(test.inputs)
			require.Equal(t, test.fails, failed)
			if test.fails != nil {
				return
			}
			require.Equal(t, test.wants, checked)
			again, failed := referring().Check(checked)
			require.Empty(t, failed)
			require.Equal(t, checked, again)
		})
	}
}

// What a provider answers may refer to a resource of another type, but is no text
// where the schema says so.
func TestCheckAnswerReferences(t *testing.T) {
	tree := property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::proj::park:index/tree:Tree::r", HasID: true, ID: "tree-1"})
	require.Empty(t, referring().CheckAnswer(obj("pets", []any{tree, "pet-1"}, "tree", tree)))
	require.Equal(t, failures("ids[0]", "expected string, got resource reference"), referring().CheckAnswer(obj("ids", []any{tree})))
	require.Equal(t, failures("pets[0]", "expected resource zoo:index/pet:Pet, got number"), referring().CheckAnswer(obj("pets", []any{1})))
}
