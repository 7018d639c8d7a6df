package adapter

import (
	"context"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// large is a provider of several types.
type large struct{ answering }

func (l large) Schemas(context.Context) (*tf.Schemas, tf.Diagnostics, error) {
	types := func(names ...string) map[string]*tf.Schema {
		all := map[string]*tf.Schema{}
		for _, name := range names {
			all[name] = madeSchema()
		}
		return all
	}
	return &tf.Schemas{
		Provider: &tf.Schema{Attributes: tf.NewAttributes(nil)}, Resources: types("shop_thing", "shop_thing_price", "shop_till"),
		DataSources: types("shop_thing", "shop_till"), Ephemerals: types("shop_till_key"), Actions: types("shop_till_open"),
	}, nil, nil
}

// A port of chosen types has those and no others, also of what the build could not leave out. Its mapping may name the others.
func TestOnly(t *testing.T) {
	mapping := func() terraform.Mapping {
		return terraform.Mapping{Resources: map[string]terraform.Resource{"shop_till": {Name: "Desk"}, "shop_thing": {Name: "Item"}, "shop_cat": {}}}
	}
	server, chosen := only{"shop_thing*"}.of(large{}, mapping())
	p := New("shop", "1.0.0", server, chosen).(*provider)
	pkg, err := p.describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, r := range pkg.Resources {
		tokens = append(tokens, r.Token)
	}
	for _, f := range pkg.Functions {
		tokens = append(tokens, f.Token)
	}
	want := []string{"shop:index/item:Item", "shop:index/thingPrice:ThingPrice", "shop:index/getThing:getThing"}
	if len(tokens) != 3 || tokens[0] != want[0] || tokens[1] != want[1] || tokens[2] != want[2] {
		t.Errorf("%v", tokens)
	}
	for _, patterns := range []only{{"shop_thing", "shop_things"}, {"thing"}} {
		server, chosen := patterns.of(large{}, terraform.Mapping{})
		_, err := New("shop", "1.0.0", server, chosen).GetSchema(t.Context(), abi.GetSchemaRequest{})
		if want := "--only " + patterns[len(patterns)-1] + ": the provider has no type of that name"; err == nil || err.Error() != want {
			t.Errorf("%v: %v", patterns, err)
		}
	}
	server, chosen = only(nil).of(large{}, mapping())
	if _, err := New("shop", "1.0.0", server, chosen).GetSchema(t.Context(), abi.GetSchemaRequest{}); err == nil {
		t.Error("a mapping of a type that the whole provider does not have")
	}
}
