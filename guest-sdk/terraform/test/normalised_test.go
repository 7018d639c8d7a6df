package test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
)

// compact returns JSON in one form, and other text as it is.
func compact(v any) string {
	var value any
	if json.Unmarshal([]byte(v.(string)), &value) != nil {
		return v.(string)
	}
	out, _ := json.Marshal(value)
	return string(out)
}

// Texts that a provider normalises, differences that it suppresses, and defaults make no difference that lasts; a real
// change is one. An update that fails keeps what the provider says of it.
func TestTextsThatAreNormalised(t *testing.T) {
	broken := false
	apply := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		d.SetId("i")
		if broken {
			d.Partial(true)
			return diag.Errorf("half way")
		}
		return nil
	}
	none := func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil }
	server := (&schema.Provider{ResourcesMap: map[string]*schema.Resource{"yard_sign": {
		Schema: map[string]*schema.Schema{
			"policy": {Type: schema.TypeString, Optional: true, StateFunc: compact, DiffSuppressFunc: func(_, a, b string, _ *schema.ResourceData) bool {
				return compact(a) == compact(b)
			}},
			"lower": {Type: schema.TypeString, Optional: true, StateFunc: func(v any) string { return strings.ToLower(v.(string)) }},
			"flag":  {Type: schema.TypeBool, Optional: true, Default: true},
		},
		CreateContext: apply, UpdateContext: apply, ReadContext: none, DeleteContext: none,
	}}}).GRPCProvider()
	p, err := tf5.Provider("yard", "1.0.0", server, terraform.Mapping{})
	require.NoError(t, err)
	u := &under{Provider: p, t: t, token: "yard:index/sign:Sign", log: &log{}}

	inputs := object("policy", `{"b": 2, "a": 1}`, "lower", "LOUD")
	id, state := u.create(inputs)
	require.Empty(t, u.changes(state, inputs, inputs))
	require.Empty(t, u.changes(state, inputs, inputs.With("policy", text("{\"a\":1,\n\"b\":2}"))), "the same in other words")
	require.Empty(t, u.changes(state, inputs, inputs.With("lower", text("Loud"))))
	require.Equal(t, []string{"policy update"}, u.changes(state, inputs, inputs.With("policy", text(`{"a": 2}`))))
	require.Equal(t, []string{"lower update"}, u.changes(state, inputs, inputs.With("lower", text("quiet"))))
	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: u.token, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	require.Empty(t, u.changes(read.State, *read.Inputs, inputs), "nor after a refresh")

	off := inputs.With("flag", property.Bool(false))
	require.Equal(t, []string{"flag update"}, u.changes(state, inputs, off))
	require.Empty(t, u.changes(state, inputs, inputs.With("flag", property.Bool(true))))

	broken = true
	_, err = u.Update(u.ctx(), abi.UpdateRequest{Type: u.token, ID: id, Olds: state, OldInputs: inputs, News: off})
	require.ErrorContains(t, err, "half way")
	broken = false
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: u.token, ID: id, Olds: state, OldInputs: inputs, News: off})
	require.NoError(t, err)
	require.Empty(t, u.changes(updated.State, off, off))
	require.Equal(t, []string{"flag update"}, u.changes(updated.State, off, inputs), "to the default, which is known")
}
