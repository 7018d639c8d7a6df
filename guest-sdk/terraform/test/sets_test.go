package test

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
)

// gates returns a resource with a set of blocks that have a default, a block with a default, and a computed part.
func gates(t *testing.T) *under {
	t.Helper()
	apply := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		d.SetId("i")
		var all []any
		for _, v := range d.Get("gate").(*schema.Set).List() {
			m := v.(map[string]any)
			if m["tag"] == "" {
				m["tag"] = "tag of " + m["path"].(string)
			}
			all = append(all, m)
		}
		return diag.FromErr(d.Set("gate", all))
	}
	none := func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil }
	server := (&schema.Provider{ResourcesMap: map[string]*schema.Resource{"yard_fence": {
		Schema: map[string]*schema.Schema{"gate": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"path": {Type: schema.TypeString, Required: true},
			"tag":  {Type: schema.TypeString, Optional: true, Computed: true},
			"port": {Type: schema.TypeInt, Optional: true, Default: 80},
			"lock": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"key":  {Type: schema.TypeString, Optional: true},
				"bits": {Type: schema.TypeInt, Optional: true, Default: 5},
			}}},
		}}}},
		CreateContext: apply, UpdateContext: apply, ReadContext: none, DeleteContext: none,
	}}}).GRPCProvider()
	p, err := tf5.Provider("yard", "1.0.0", server, terraform.Mapping{})
	require.NoError(t, err)
	return &under{Provider: p, t: t, token: "yard:index/fence:Fence", log: &log{}}
}

// Terraform plans the computed parts of such elements anew for ever: to it, an element with a default is another one
// than that of the configuration.
func TestElementsOfSetsWithDefaultsSettle(t *testing.T) {
	u := gates(t)
	a, b, c := obj("path", "/a", "lock", obj("key", "x")), obj("path", "/b"), obj("path", "/c", "port", 81)
	gates := func(all ...property.Value) property.Map { return object("gates", list(all...)) }
	inputs := gates(a, b, c)
	_, state := u.create(inputs)
	require.Empty(t, u.changes(state, inputs, inputs))
	require.Empty(t, u.changes(state, inputs, gates(c, b, a)), "the order says nothing")
	require.Empty(t, u.changes(state, inputs, gates(a, obj("path", "/b", "port", 80), c)), "the default itself is no change")

	index := func(path string) string {
		all, _ := state.Get("gates").AsArray()
		for i, v := range all {
			if m, _ := v.AsObject(); m.Get("path").Equal(text(path)) {
				return "gates[" + string(rune('0'+i)) + "]"
			}
		}
		return ""
	}
	require.Equal(t, []string{index("/b") + " delete"}, u.changes(state, inputs, gates(a, c)), "the other elements stay")
	require.Len(t, u.changes(state, inputs, gates(a, b, c, obj("path", "/d"))), 1)
	require.NotEmpty(t, u.changes(state, inputs, gates(a, b, obj("path", "/c"))), "what was not the default becomes it")
	require.NotEmpty(t, u.changes(state, inputs, gates(obj("path", "/a"), b, c)), "a block that is gone is no default")

	// What comes has its index in the program, and what goes the one in the state.
	d := obj("path", "/d")
	requireChanges := func(inputs property.Map, want ...string) {
		t.Helper()
		slices.Sort(want)
		require.Equal(t, want, u.changes(state, gates(a, b, c), inputs))
	}
	requireChanges(gates(a, b, c, d), "gates[3] add")
	if at := index("/a"); at != "gates[0]" {
		requireChanges(gates(d, c, b), "gates[0] add", at+" delete")
	} else {
		requireChanges(gates(c, d, b), "gates[1] add", at+" delete")
	}
}

// Parts of elements that a preview does not know belong to other elements than those of the state, change nothing else, and settle
// when they are known, in any order.
func TestElementsOfSetsWithUnknownParts(t *testing.T) {
	u := gates(t)
	gates := func(all ...property.Value) property.Map { return object("gates", list(all...)) }
	a, b, z := obj("path", "/a"), obj("path", "/b"), obj("path", "/z", "lock", obj("key", "x"))
	inputs := gates(a)
	id, state := u.create(inputs)
	unknown := gates(a, obj("path", property.Unknown), obj("path", "/z", "lock", obj("key", property.Unknown)))
	require.Equal(t, []string{"gates[1] add", "gates[2] add"}, u.changes(state, inputs, unknown))
	require.Equal(t, []string{"gates update"}, u.changes(state, inputs, object("gates", property.Unknown)))
	preview, err := u.Update(u.ctx(), abi.UpdateRequest{Type: u.token, ID: id, Olds: state, OldInputs: inputs, News: unknown, Preview: true})
	require.NoError(t, err)
	require.True(t, preview.State.ContainsUnknowns())
	for _, known := range []property.Map{gates(a, b, z), gates(z, a, b)} {
		updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: u.token, ID: id, Olds: state, OldInputs: inputs, News: known})
		require.NoError(t, err)
		require.Empty(t, u.changes(updated.State, known, known))
		require.Empty(t, u.changes(updated.State, known, gates(b, z, a)))
	}
}
