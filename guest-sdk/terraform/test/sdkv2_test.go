package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
	"github.com/husk-dev/husk/testdata/ported/mux/attic"
	"github.com/husk-dev/husk/testdata/ported/sdkv2/closet"
)

const rackToken = "closet:index/rack:Rack"

func closetProvider(t *testing.T) abi.Provider {
	t.Helper()
	p, err := tf5.Provider("closet", "2.0.0", closet.New().GRPCProvider(), terraform.Mapping{})
	require.NoError(t, err)
	return p
}

func racks(t *testing.T) *under {
	t.Helper()
	u := &under{Provider: closetProvider(t), t: t, token: rackToken, log: &log{}}
	require.NoError(t, u.Configure(u.ctx(), abi.ConfigureRequest{Inputs: object("endpoint", "here")}))
	return u
}

func TestTheShapesOfThePluginSDK(t *testing.T) {
	u := racks(t)
	r := u.pkg().Resource(rackToken)
	require.Equal(t, []string{
		"color", "fail", "hooks", "load", "name", "notes", "open", "owners", "password", "rail", "shelves", "tags", "width",
	}, names(&r.Inputs), "timeouts are an option of resources")
	require.Equal(t, "object closet:index/RackRail:RackRail", r.Inputs.Property("rail").Type.String())
	require.True(t, r.Inputs.Property("width").Computed)

	inputs := object("name", "shapes", "rail", object("length", 3), "hooks", list(obj("side", "left")), "shelves", list(obj("height", 2), obj("height", 1, "label", "x")),
		"tags", object("Some_Key", "v"), "owners", list(text("b"), text("a")), "notes", list(text("n")), "open", property.Bool(true), "load", number(1.5))
	_, state := u.create(inputs)
	requireAt(t, text("steel"), state, "rail.metal")
	requireAt(t, text("hook-0-left"), state, "hooks[0].serial")
	requireAt(t, text("white"), state, "color")
	requireAt(t, number(80), state, "width")
	requireAt(t, text("v"), state, "tags.Some_Key")
	require.False(t, state.Has("timeouts"))
	require.Contains(t, u.logged(), "warning The rack is new: Let it dry.")
	require.Empty(t, u.changes(state, inputs, inputs))

	require.Equal(t, []string{"rail.length update"}, u.changes(state, inputs, inputs.With("rail", obj("length", 4))))
	require.Equal(t, []string{"rail.metal update-replace"}, u.changes(state, inputs, inputs.With("rail", obj("length", 3, "metal", "brass"))))
	require.Equal(t, []string{"hooks[1] add"}, u.changes(state, inputs, inputs.With("hooks", list(obj("side", "left"), obj("side", "right")))))
	require.Equal(t, []string{"name update-replace"}, u.changes(state, inputs, inputs.With("name", text("other"))))
	require.Equal(t, []string{"tags.Some_Key update"}, u.changes(state, inputs, inputs.With("tags", obj("Some_Key", "w"))))
	require.Equal(t, []string{"rail delete"}, u.changes(state, inputs, inputs.Without("rail")))
	require.Empty(t, u.changes(state, inputs, inputs.With("owners", list(text("a"), text("b")))), "the order of a set has no meaning")
	require.Equal(t, []string{"owners[0] add", "owners[1] delete"}, u.changes(state, inputs, inputs.With("owners", list(text("z")))), "one goes, and another comes at its index")
	require.Equal(t, []string{"color update", "width update"}, u.changes(state, inputs, inputs.With("color", text("red")).With("width", property.Unknown)))
}

func TestValidationOfThePluginSDK(t *testing.T) {
	u := racks(t)
	failures := u.refused(object("name", "a", "color", "plaid"))
	require.Len(t, failures, 1)
	require.Equal(t, "color", failures[0].Path)
	require.Contains(t, failures[0].Reason, "plaid")
	require.Equal(t, "rail.length", u.refused(object("name", "a", "rail", object()))[0].Path)
}

// The plugin SDK walks its schemas in the order of Go's maps, which is another each time.
func TestAnswersAboutSeveralPropertiesAreSorted(t *testing.T) {
	u := racks(t)
	wrong := object("name", "a", "color", "plaid", "rail", object("length", number(1.5)), "width", number(2.5))
	inputs := object("name", "sorted", "rail", object("length", 1, "metal", "tin"))
	id, state := u.create(inputs)
	for range 20 {
		var paths []string
		for _, f := range u.refused(wrong) {
			paths = append(paths, f.Path)
		}
		require.Equal(t, []string{"color", "rail.length", "width"}, paths)
		_, err := u.Update(u.ctx(), abi.UpdateRequest{
			Type: rackToken, Name: "it", ID: id, Olds: state, OldInputs: inputs, News: u.check(object("name", "other", "rail", object("length", 1, "metal", "brass"))),
		})
		require.Equal(t, "name", abi.AsError(err).Path)
	}
}

func TestErrorsOfThePluginSDKKeepWhatWasDone(t *testing.T) {
	u := racks(t)
	create := func(fail string) error {
		_, err := u.Create(u.ctx(), abi.CreateRequest{Type: rackToken, Name: "it", Inputs: object("name", "partial", "fail", fail)})
		return err
	}
	require.ErrorContains(t, create("create"), "there is no room for the rack")
	err := create("half")
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure := abi.AsError(err).InitFailure
	require.Equal(t, "rack-partial", failure.ID)
	require.Equal(t, []string{"the rack is crooked"}, failure.Reasons)
	requireAt(t, text("code-partial"), failure.State, "code")

	inputs := object("name", "partial")
	id, state := u.create(inputs)
	_, err = u.Update(u.ctx(), abi.UpdateRequest{Type: rackToken, ID: id, Olds: state, OldInputs: inputs, News: inputs.With("color", text("red")).With("fail", text("update"))})
	require.ErrorIs(t, err, abi.ErrInternal, "nothing has changed")
	require.ErrorContains(t, err, "the rack does not change")
}

// Terraform lets an update change the attribute id. The ID of a resource stays, and the provider gets its own.
func TestAnAttributeIDThatChanges(t *testing.T) {
	u := racks(t)
	inputs := object("name", "roving")
	id, state := u.create(inputs)
	news := inputs.With("fail", text("move"))
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: rackToken, ID: id, Olds: state, OldInputs: inputs, News: news})
	require.NoError(t, err)
	requireAt(t, text(id), updated.State, "id")
	require.Empty(t, u.changes(updated.State, news, news))
	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: rackToken, ID: id, State: updated.State}))
	left, err := u.Read(u.ctx(), abi.ReadRequest{Type: rackToken, ID: "moved-roving"})
	require.NoError(t, err)
	require.Empty(t, left.ID, "the rack with the new attribute was deleted")
}

func TestTimeoutsOfThePluginSDK(t *testing.T) {
	u := racks(t)
	made := func(timeout float64) (state property.Map) {
		response, err := u.Create(u.ctx(), abi.CreateRequest{Type: rackToken, Name: "it", Inputs: object("name", "slow"), Timeout: timeout})
		require.NoError(t, err)
		return response.State
	}
	requireAt(t, text("10m0s"), made(0), "madeIn")
	state := made(90)
	requireAt(t, text("1m30s"), state, "madeIn")
	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: rackToken, ID: "rack-slow", State: state}))
	require.Contains(t, u.logged(), "warning Within 5m0s")
	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: rackToken, ID: "rack-slow", State: state, Timeout: 30}))
	require.Contains(t, u.logged(), "warning Within 30s")
}

func TestImportAndRefreshOfThePluginSDK(t *testing.T) {
	u := racks(t)
	inputs := object("name", "found", "rail", object("length", 1))
	id, state := u.create(inputs)
	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: rackToken, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	require.True(t, state.Equal(read.State), "%s %s", property.Object(state), property.Object(read.State))
	require.True(t, inputs.Equal(*read.Inputs))
	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: rackToken, ID: id})
	require.NoError(t, err)
	requireAt(t, text("found"), *read.Inputs, "name")
	require.Empty(t, u.changes(read.State, *read.Inputs, *read.Inputs))
	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: rackToken, ID: "rack-none"})
	require.NoError(t, err)
	require.Empty(t, read.ID)
}

// The state is as the published Pulumi package of such a provider writes it.
func TestStatesOfPulumisBridgeAreUpgraded(t *testing.T) {
	u := racks(t)
	id, _ := u.create(object("name", "bridged"))
	state := object("id", id, "title", "bridged", "rail", object("length", 2, "metal", "steel"), "hooks", list(obj("side", "left")),
		"__meta", `{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":600000000000,"delete":7000000000},"schema_version":"0"}`)
	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: rackToken, ID: id, State: &state, Inputs: new(object("name", "bridged"))})
	require.NoError(t, err)
	requireAt(t, text("bridged"), read.State, "name")
	requireAt(t, number(2), read.State, "rail.length")
	requireAt(t, text("left"), read.State, "hooks[0].side")
	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: rackToken, ID: id, State: read.State}))
	require.Contains(t, u.logged(), "warning Within 7s", "the private state is kept")
}

func TestConfigurationOfThePluginSDK(t *testing.T) {
	p := closetProvider(t)
	err := p.Configure(t.Context(), abi.ConfigureRequest{})
	require.Equal(t, []abi.MissingKey{{Name: "endpoint", Description: "Where the closet is."}}, abi.AsError(err).MissingKeys)
	err = p.Configure(t.Context(), abi.ConfigureRequest{Inputs: object("endpoint", "ftp://here")})
	require.ErrorContains(t, err, "no closet at ftp://here")
	checked, err := p.CheckConfig(t.Context(), abi.CheckRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "endpoint", Reason: "required property is missing; expected string"}}, checked.Failures)
	described, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	t.Setenv("CLOSET_ENDPOINT", "there")
	p = closetProvider(t)
	checked, err = p.CheckConfig(t.Context(), abi.CheckRequest{})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{}), "the provider takes its default of the environment")
	again, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.Equal(t, described, again, "the schema does not depend on the environment")
}

func TestDataSourcesOfThePluginSDK(t *testing.T) {
	u := racks(t)
	u.create(object("name", "seen"))
	response, err := u.Invoke(u.ctx(), abi.InvokeRequest{Token: "closet:index/getRack:getRack", Args: object("name", "seen", "filter", object("color", "red"))})
	require.NoError(t, err)
	requireAt(t, property.Bool(true), response.Result, "exists")
	requireAt(t, text("red"), response.Result, "filter.color")
	requireAt(t, text("rack-seen"), response.Result, "id")
}

func TestBothHalvesOfAMux(t *testing.T) {
	server, err := attic.Server(t.Context())
	require.NoError(t, err)
	p, err := tf6.Provider("attic", "1.0.0", server(), terraform.Mapping{})
	require.NoError(t, err)
	u := &under{Provider: p, t: t, token: "attic:index/trunk:Trunk", log: &log{}}
	require.NoError(t, u.Configure(u.ctx(), abi.ConfigureRequest{Inputs: object("dusty", property.Bool(true))}))
	id, state := u.create(object("name", "a", "lock", object("digits", 4)))
	require.Equal(t, "trunk-a", id)
	requireAt(t, number(4), state, "lock.digits")
	u.token = "attic:index/lamp:Lamp"
	id, state = u.create(object("watts", 40))
	require.Equal(t, "lamp", id)
	require.Equal(t, []string{"watts update"}, u.changes(state, object("watts", 40), object("watts", 60)))
}

func TestPluginSDKConformance(t *testing.T) {
	conforms(t, func(context.Context) (abi.Provider, error) { return closetProvider(t), nil }, conformance.Options{Config: object("endpoint", "here")})
}

// The replacement of a resource by which nobody knows the object could be the same object: the deletion of the
// old one would then delete the new one, too.
func TestReplacementsOfUnknownIdentityDeleteFirst(t *testing.T) {
	for _, test := range []struct {
		mapping *bool
		lamp    bool
	}{{nil, true}, {new(false), false}} {
		server, err := attic.Server(t.Context())
		require.NoError(t, err)
		p, err := tf6.Provider("attic", "1.0.0", server(), terraform.Mapping{Resources: map[string]terraform.Resource{"attic_lamp": {DeleteBeforeReplace: test.mapping}}})
		require.NoError(t, err)
		response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.NoError(t, err)
		pkg, err := schemajson.Parse([]byte(response.Schema))
		require.NoError(t, err)
		require.Equal(t, test.lamp, pkg.Resource("attic:index/lamp:Lamp").DeleteBeforeReplace)
		require.False(t, pkg.Resource("attic:index/trunk:Trunk").DeleteBeforeReplace, "its name is its identity")
		require.Equal(t, []string{"name"}, pkg.Resource("attic:index/trunk:Trunk").Identity)
	}
}
