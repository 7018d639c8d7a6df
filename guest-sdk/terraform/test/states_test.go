package test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/internal/port/tfstate"
)

// taken returns what is taken over of a state by a provider, by Terraform's addresses.
func (u *under) taken(data []byte) map[string]*tfstate.Object {
	u.t.Helper()
	s, err := tfstate.Parse(data)
	require.NoError(u.t, err)
	answer, err := u.GetMapping(u.ctx(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(u.t, err)
	mapping, err := tfstate.ParseMapping(answer.Data)
	require.NoError(u.t, err)
	takeover, err := tfstate.Take(s, []*tfstate.Known{{Name: answer.Provider, Schema: u.pkg(), Mapping: mapping}})
	require.NoError(u.t, err)
	objects := map[string]*tfstate.Object{}
	for _, o := range takeover.Objects {
		objects[o.Address] = o
	}
	return objects
}

// terraformState is what Terraform 1.11.4 has written for the providers of testdata/ported.
func terraformState(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../internal/port/tfstate/testdata/terraform.tfstate")
	require.NoError(t, err)
	return data
}

// readState reads an object with what Terraform knows of it.
func (u *under) readState(o *tfstate.Object) abi.ReadResponse {
	u.t.Helper()
	found, err := u.Read(u.ctx(), abi.ReadRequest{Type: o.Token, ID: o.ID, State: &o.State, Inputs: &o.Inputs})
	require.NoError(u.t, err)
	return found
}

// A box of Terraform is read, compared, and changed as one that was made here.
func TestStatesOfTheFramework(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.world.Set("box-crate", 30)
	crate := u.taken(terraformState(t))["shelf_box.crate"]
	require.Equal(t, boxToken, crate.Token)
	require.Equal(t, "box-crate", crate.ID)
	found := u.readState(crate)
	require.Empty(t, property.DiffContents(crate.State.Without("__meta", "slots"), found.State.Without("__meta")), "but that there are no slots is not recorded")
	require.True(t, found.State.Get("combination").IsSecret())
	require.True(t, found.Inputs.Equal(object(
		"name", "crate", "size", 3, "combination", property.Secret(text("12345678")), "notes", list(text("one")),
		"extra", obj("a", 1, "b", list(text("x"))),
		"items", list(obj("name", "cup")), "hinges", list(obj("side", "left")),
		"drawers", obj("top_left", obj("color", "red")),
	)), "%v", found.Inputs)
	require.Empty(t, u.changes(found.State, *found.Inputs, *found.Inputs))

	// The box is lost without its private state.
	changed := u.check(found.Inputs.With("size", number(4)))
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: u.token, ID: crate.ID, Olds: found.State, OldInputs: *found.Inputs, News: changed})
	require.NoError(t, err)
	require.Equal(t, number(40), updated.State.Get("weight"))
}

// The provider upgrades what an earlier version of it has written.
func TestStatesOfEarlierVersions(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.world.Set("box-old", 70)
	old := u.taken([]byte(`{"version": 4, "resources": [{"mode": "managed", "type": "shelf_box", "name": "old",
		"provider": "provider[\"registry.terraform.io/husk-dev/shelf\"]", "instances": [{"schema_version": 0,
		"attributes": {"id": "box-old", "title": "old", "size": 7, "remark": ["dusty"], "labels": {"full_of": "hats"}}}]}]}`))["shelf_box.old"]
	found := u.readState(old)
	require.Equal(t, text("old"), found.State.Get("name"))
	require.Equal(t, list(text("dusty"), text("full_of=hats")), found.State.Get("notes"))
}

func TestStatesOfThePluginSDK(t *testing.T) {
	u := racks(t)
	u.create(object("name", "one"))
	rack := u.taken(terraformState(t))["closet_rack.one"]
	found := u.readState(rack)
	require.Empty(t, property.DiffContents(rack.State.Without("__meta"), found.State.Without("__meta")))
	require.True(t, found.Inputs.Get("password").IsSecret())
	require.Equal(t, obj("length", 5, "metal", "steel"), found.Inputs.Get("rail"))
	require.Equal(t, list(obj("side", "left")), found.Inputs.Get("hooks"))
	diff, err := u.Diff(u.ctx(), abi.DiffRequest{Type: u.token, ID: rack.ID, Olds: found.State, OldInputs: *found.Inputs, News: u.check(*found.Inputs)})
	require.NoError(t, err)
	require.Empty(t, diff.DetailedDiff)
}
