package adapter

import (
	"context"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// agreeing is a server that finds nothing wrong.
type agreeing struct{ answering }

func (agreeing) ValidateResource(context.Context, string, *tf.Value) (tf.Diagnostics, error) {
	return nil, nil
}

// A stack of Pulumi's package has names where Terraform has none. Nobody gives such a name to a resource that has none.
func TestAnOptionalNameIsKept(t *testing.T) {
	name := func(s string) property.Map {
		return property.NewMap(property.Entry{Key: "name", Value: property.String(s)})
	}
	without, mine, made := property.NewMap(), name("mine"), name("lamp-0a1b2c3")
	for what, c := range map[string]struct {
		mapped     map[string]terraform.Autoname
		olds       *property.Map
		news, want property.Map
	}{
		"a new resource":            {want: without},
		"one without a name":        {olds: &without, want: without},
		"a name of the package":     {olds: &made, want: made},
		"another name":              {olds: &made, news: mine, want: mine},
		"a name of the program":     {olds: &mine, want: without},
		"off":                       {mapped: map[string]terraform.Autoname{"name": {Off: true}}, olds: &made, want: without},
		"new, by the mapping":       {mapped: map[string]terraform.Autoname{"name": {}}, want: name("lamp-3333333")},
		"the program's, by mapping": {mapped: map[string]terraform.Autoname{"name": {}}, olds: &mine, want: mine},
	} {
		p := New("shop", "1.0.0", agreeing{answering{schema: madeSchema()}}, terraform.Mapping{Resources: map[string]terraform.Resource{"shop_thing": {Autoname: c.mapped}}})
		checked, err := p.Check(t.Context(), abi.CheckRequest{
			Type: "shop:index/thing:Thing", Name: "lamp", Olds: c.olds, News: c.news, RandomSeed: []byte("\x03\x13\x23\x33\x43\x53\x63\x73"),
		})
		if err != nil || len(checked.Failures) > 0 || !checked.Inputs.Equal(c.want) {
			t.Errorf("%s: %v, %v, %v", what, checked.Inputs, checked.Failures, err)
		}
	}
}
