package test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
)

func names(o *schema.Object) []string { return o.Names() }

func TestNamesFollowPulumisBridge(t *testing.T) {
	pkg := boxes(t, terraform.Mapping{}).pkg()
	r := pkg.Resource(boxToken)
	require.NotNil(t, r)
	require.Equal(t, []string{
		"combination", "drawers", "extra", "fail", "hinges", "items", "lid", "name", "notes", "password", "passwordVersion", "size", "slots", "stickers",
	}, names(&r.Inputs))
	require.Equal(t, []string{
		"combination", "drawers", "extra", "fail", "hinges", "items", "key", "lid", "made", "name", "notes", "passwordVersion", "size", "slots", "stickers", "weight",
	}, names(&r.Outputs))

	require.Equal(t, "array of object shelf:index/BoxItem:BoxItem", r.Inputs.Property("items").Type.String())
	require.Equal(t, "map of object shelf:index/BoxDrawers:BoxDrawers", r.Inputs.Property("drawers").Type.String())
	require.Equal(t, "any value", r.Inputs.Property("extra").Type.String())
	require.False(t, r.Inputs.Property("name").Required, "a name is made up")
	require.False(t, r.Inputs.Property("size").Required)
	require.True(t, r.Outputs.Property("name").Required)
	require.False(t, r.Outputs.Property("weight").Required, "what a provider computes may be null")
	require.Equal(t, "What is on it.", r.Inputs.Property("name").Description)
	require.Equal(t, "Better not.", r.Inputs.Property("fail").Deprecation)
	require.True(t, r.Inputs.Property("combination").Secret)
	require.True(t, r.Outputs.Property("key").Secret)
	require.True(t, r.Inputs.Property("password").Secret)
	require.True(t, r.Inputs.Property("password").WriteOnly)

	require.Equal(t, []string{"text"}, names(&pkg.Resource(labelToken).Inputs))
	require.Equal(t, []string{"labelUrn", "text"}, names(&pkg.Resource(labelToken).Outputs), "each resource has a urn already")

	f := pkg.Function("shelf:index/getBoxCount:getBoxCount")
	require.NotNil(t, f)
	require.Equal(t, []string{"prefix"}, names(&f.Args))
	require.Equal(t, []string{"id", "number", "prefix"}, names(&f.Result))
	require.NotNil(t, pkg.Function("shelf:index/joinWords:joinWords"))
	require.Equal(t, []string{"accessKey", "closed", "room"}, names(&pkg.Config))
}

// A mapping for several versions of a provider may name what this one does not have.
func TestAnOptionalMapping(t *testing.T) {
	yes := true
	mapping := terraform.Mapping{
		Resources: map[string]terraform.Resource{
			"shelf_box":   {Fields: map[string]terraform.Field{"hinge": {MaxItemsOne: &yes}, "wheels": {MaxItemsOne: &yes}}},
			"shelf_wheel": {Name: "Wheel"},
		},
	}
	_, err := provider(t, shelf.NewWorld(), mapping).GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.ErrorContains(t, err, "shelf_wheel, which the provider does not have")
	mapping.Optional = true
	require.Equal(t, "object shelf:index/BoxHinge:BoxHinge", boxes(t, mapping).pkg().Resource(boxToken).Inputs.Property("hinge").Type.String())
}

func TestAMappingChangesNames(t *testing.T) {
	yes, prefix := true, ""
	u := boxes(t, terraform.Mapping{
		Prefix: &prefix, Modules: map[string]string{"shelf_l": "paper"},
		Resources: map[string]terraform.Resource{
			"shelf_box": {Name: "Chest", ID: []string{"made", "name"}, DeleteBeforeReplace: new(true), Fields: map[string]terraform.Field{
				"hinge": {MaxItemsOne: &yes}, "name": {Name: "title", Secret: &yes},
				"item": {Name: "contents", Fields: map[string]terraform.Field{"name": {Name: "what"}}},
			}},
		},
	})
	pkg := u.pkg()
	require.NotNil(t, pkg.Resource("shelf:paper/shelfLabel:ShelfLabel"))
	u.token = "shelf:index/chest:Chest"
	require.True(t, pkg.Resource(u.token).DeleteBeforeReplace)
	inputs := object("title", "a", "hinge", object("side", "left"), "contents", list(obj("what", "cup")))
	id, state := u.create(inputs)
	require.Equal(t, "created/a", id)
	requireAt(t, text("left"), state, "hinge.side")
	requireAt(t, text("item-0-cup"), state, "contents[0].serial")
	require.True(t, state.Get("title").IsSecret())
	changed := object("title", "a", "hinge", object("side", "right"), "contents", list(obj("what", "cup")))
	require.Equal(t, []string{"hinge.side update-replace"}, u.changes(state, inputs, changed))
}

func TestAWrongMappingIsRefused(t *testing.T) {
	yes := true
	for want, mapping := range map[string]terraform.Mapping{
		"the mapping names the resource shelf_bax, which the provider does not have":                            {Resources: map[string]terraform.Resource{"shelf_bax": {}}},
		"the mapping names the field nome, which the provider does not have":                                    {Resources: map[string]terraform.Resource{"shelf_box": {Fields: map[string]terraform.Field{"nome": {}}}}},
		"the mapping sets maxItemsOne of name, which is neither a list nor a set":                               {Resources: map[string]terraform.Resource{"shelf_box": {Fields: map[string]terraform.Field{"name": {MaxItemsOne: &yes}}}}},
		"name and size both become the property size; name one of them in a mapping":                            {Resources: map[string]terraform.Resource{"shelf_box": {Fields: map[string]terraform.Field{"name": {Name: "size"}}}}},
		"the resources shelf_box and shelf_label both have the token shelf:index/box:Box":                       {Resources: map[string]terraform.Resource{"shelf_label": {Name: "Box"}}},
		"shelf_box: the mapping has the token box, and shelf:MODULE:NAME is needed":                             {Resources: map[string]terraform.Resource{"shelf_box": {Token: "box"}}},
		"the resource shelf_box: the mapping makes the ID or identity of nome, which is none of its attributes": {Resources: map[string]terraform.Resource{"shelf_box": {ID: []string{"nome"}}}},
	} {
		world := boxes(t, terraform.Mapping{})
		_, err := provider(t, world.world, mapping).GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.ErrorContains(t, err, want)
	}
}

func TestFailuresHaveThePathsOfProperties(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	require.Equal(t, []abi.CheckFailure{{Path: "items[1].name", Reason: "Too large: No box holds an elephant."}},
		u.refused(object("name", "a", "items", list(obj("name", "cup"), obj("name", "elephant")))))
	require.Equal(t, "items[0].name", u.refused(object("items", list(obj())))[0].Path)
	require.Equal(t, "size", u.refused(object("name", "a", "size", "large"))[0].Path)
	require.Equal(t, "nome", u.refused(object("name", "a", "nome", "b"))[0].Path)
	require.Equal(t, []abi.CheckFailure{{Path: "items[0].serial", Reason: "the provider computes this property; remove it"}},
		u.refused(object("name", "a", "items", list(obj("name", "cup", "serial", "1")))))

	require.Empty(t, u.refused(object("name", "a", "size", 101)))
	require.Contains(t, u.logged(), "warning size: Large box: It may not fit.")
}

func TestLifecycle(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", "a", "items", list(obj("name", "cup")), "stickers", list(obj("text", "x"), obj("text", "y")), "slots", list(obj("number", 1)),
		"drawers", object("Top Left", object("color", "red")), "lid", object("color", "blue"), "extra", list(text("s"), number(1), obj("Key_one", property.Bool(true))),
		"notes", list(text("n")))

	preview, err := u.Create(u.ctx(), abi.CreateRequest{Type: boxToken, Name: "it", Inputs: inputs, Preview: true})
	require.NoError(t, err)
	require.Empty(t, preview.ID)
	require.True(t, preview.State.Get("weight").IsUnknown())
	requireAt(t, number(3), preview.State, "size")
	requireAt(t, property.Unknown, preview.State, "items[0].serial")

	id, state := u.create(inputs)
	require.Equal(t, "box-a", id)
	requireAt(t, number(30), state, "weight")
	requireAt(t, text("item-0-cup"), state, "items[0].serial")
	requireAt(t, text("drawer-Top Left-red"), state, `drawers["Top Left"].code`)
	requireAt(t, text("lid-blue"), state, "lid.code")
	requireAt(t, inputs.Get("extra"), state, "extra")
	require.Contains(t, u.logged(), `info filled box="a"`, "tflog writes to the log")
	require.False(t, state.Has("hinges"), "a block that is not there is no property")

	require.Equal(t, abi.DiffChangesNone, u.diff(state, inputs, inputs).Changes)

	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	require.True(t, state.Equal(read.State))
	require.True(t, inputs.Equal(*read.Inputs))

	u.world.Set(id, 70)
	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	requireAt(t, number(7), read.State, "size")
	require.False(t, read.Inputs.Has("size"), "what the program did not say stays unsaid")
	sized := inputs.With("size", number(3))
	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state, Inputs: &sized})
	require.NoError(t, err)
	requireAt(t, number(7), *read.Inputs, "size")

	changed := inputs.With("size", number(4)).Without("lid")
	require.Equal(t, []string{"lid delete", "size update"}, u.changes(state, inputs, changed))
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: boxToken, ID: id, Olds: state, OldInputs: inputs, News: changed})
	require.NoError(t, err)
	requireAt(t, number(4), updated.State, "size")
	requireAt(t, text("created"), updated.State, "made")
	requireAt(t, text("item-0-cup"), updated.State, "items[0].serial")
	require.False(t, updated.State.Has("lid"))

	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: boxToken, ID: id, State: updated.State}))
	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	require.Empty(t, read.ID, "it is gone")
}

// What is computed in an element of a set belongs to the element, wherever it stands.
func TestElementsOfSetsKeepWhatIsComputed(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", "a", "slots", list(obj("number", 1), obj("number", 2)), "stickers", list(obj("text", "x"), obj("text", "y")))
	id, state := u.create(inputs)
	reordered := object("name", "a", "slots", list(obj("number", 2), obj("number", 1)), "stickers", list(obj("text", "y"), obj("text", "x")))
	require.Empty(t, u.changes(state, inputs, reordered), "the order of a set has no meaning")

	more := object("name", "a", "slots", list(obj("number", 3), obj("number", 1)), "stickers", list(obj("text", "y"), obj("text", "z"), obj("text", "x")))
	require.NotEmpty(t, u.changes(state, inputs, more))
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: boxToken, ID: id, Olds: state, OldInputs: inputs, News: more})
	require.NoError(t, err)
	codes := map[string]bool{}
	slots, _ := updated.State.Get("slots").AsArray()
	for _, slot := range slots {
		code, _ := at(t, object("slot", slot), "slot.code").AsString()
		codes[code] = true
	}
	require.Equal(t, map[string]bool{"slot-1-created": true, "slot-3-updated": true}, codes)
}

func TestReplacement(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", "a", "hinges", list(obj("side", "left"), obj("side", "right")), "size", 5)
	id, state := u.create(inputs)
	renamed := inputs.With("name", text("b")).With("size", number(6))
	diff := u.diff(state, inputs, renamed)
	require.Equal(t, []string{"name"}, diff.ReplaceKeys)
	require.Equal(t, []string{"name", "size"}, diff.ChangedKeys)
	require.Equal(t, []string{"name update-replace", "size update"}, u.changes(state, inputs, renamed))
	turned := inputs.With("hinges", list(obj("side", "left"), obj("side", "top")))
	require.Equal(t, []string{"hinges[1].side update-replace"}, u.changes(state, inputs, turned))
	require.True(t, u.diff(state, inputs, turned).DeleteBeforeReplace, "the new box would have the name of the old one")
	require.False(t, diff.DeleteBeforeReplace)

	_, err := u.Update(u.ctx(), abi.UpdateRequest{Type: boxToken, ID: id, Olds: state, OldInputs: inputs, News: renamed})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.ErrorContains(t, err, "name: the provider cannot change this property in place; replace the resource")
}

func TestUnknownInputs(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", "a", "items", list(obj("name", "cup")))
	_, state := u.create(inputs)
	require.Equal(t, []string{"name update-replace"}, u.changes(state, inputs, inputs.With("name", property.Unknown)))
	require.Equal(t, []string{"items[0].name update"}, u.changes(state, inputs, inputs.With("items", list(obj("name", property.Unknown)))))
	require.Equal(t, []string{"items update"}, u.changes(state, inputs, inputs.With("items", property.Unknown)))
	preview, err := u.Create(u.ctx(), abi.CreateRequest{Type: boxToken, Inputs: object("name", property.Unknown, "slots", property.Unknown), Preview: true})
	require.NoError(t, err)
	require.True(t, preview.State.Get("name").IsUnknown())
	require.True(t, preview.State.Get("slots").IsUnknown())
}

func TestIgnoredChanges(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", "a", "size", 5, "lid", object("color", "red"))
	_, state := u.create(inputs)
	news := object("name", "a", "size", 6, "lid", object("color", "blue"))
	diff, err := u.Diff(u.ctx(), abi.DiffRequest{Type: boxToken, ID: "box-a", Olds: state, OldInputs: inputs, News: news, IgnoreChanges: []string{"size", "lid.color"}})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, diff.Changes)
}

func TestSecretsStaySecret(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	inputs := object("name", property.Secret(text("hidden-name")), "combination", "12345678", "password", "correct horse",
		"lid", object("color", property.Secret(text("red"))))
	id, state := u.create(inputs)
	require.Equal(t, "box-hidden-name", id)
	for _, name := range []string{"name", "combination", "key", "id"} {
		require.True(t, state.Get(name).IsSecret(), name)
	}
	require.True(t, state.Get("lid").ContainsSecrets())
	require.False(t, state.Has("password"), "a write-only attribute is in no state")
	require.NotContains(t, property.Object(state.Unwrap()).String(), "correct horse")
	requireAt(t, text("key-for-13"), state, "key")

	changed := inputs.With("password", text("wrong horse"))
	require.Empty(t, u.changes(state, inputs, changed), "another value alone is no change")
	changed = changed.With("passwordVersion", number(2))
	require.Equal(t, []string{"passwordVersion add"}, u.changes(state, inputs, changed))
	updated, err := u.Update(u.ctx(), abi.UpdateRequest{Type: boxToken, ID: id, Olds: state, OldInputs: inputs, News: changed})
	require.NoError(t, err)
	requireAt(t, text("key-for-11"), updated.State, "key")

	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state, Inputs: &inputs})
	require.NoError(t, err)
	require.True(t, read.State.Get("name").IsSecret())
}

func TestErrorsKeepWhatWasDone(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	create := func(fail string) error {
		_, err := u.Create(u.ctx(), abi.CreateRequest{Type: boxToken, Name: "it", Inputs: object("name", "a", "fail", fail, "lid", object("color", "red"))})
		return err
	}
	err := create("create")
	require.ErrorIs(t, err, abi.ErrInternal)
	require.ErrorContains(t, err, "No box: There is no room for it.")

	err = create("half")
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure := abi.AsError(err).InitFailure
	require.Equal(t, "box-a", failure.ID)
	require.Equal(t, []string{"lid: No lid: It does not fit."}, failure.Reasons)
	requireAt(t, text("lid-red"), failure.State, "lid.code")
	half := object("name", "a", "fail", "half", "lid", object("color", "red"))
	diff := u.diff(failure.State, half, half)
	require.Equal(t, []string{"__meta"}, diff.ReplaceKeys, "Terraform replaces what it could not create")
	require.True(t, diff.DeleteBeforeReplace)
	require.Empty(t, diff.DetailedDiff, "no property asks for it")
	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: "box-a", State: &failure.State, Inputs: &half})
	require.NoError(t, err)
	require.True(t, failure.State.Equal(read.State))

	inputs := object("name", "a", "size", 3)
	id, state := u.create(inputs)
	update := func(fail string) error {
		_, err := u.Update(u.ctx(), abi.UpdateRequest{Type: boxToken, ID: id, Olds: state, OldInputs: inputs, News: object("name", "a", "size", 9, "fail", fail)})
		return err
	}
	err = update("update")
	require.ErrorIs(t, err, abi.ErrInternal)
	require.ErrorContains(t, err, "Stuck: The box does not change.")
	err = update("half")
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure = abi.AsError(err).InitFailure
	require.Equal(t, id, failure.ID)
	requireAt(t, number(9), failure.State, "size")

	_, stuck := u.create(object("name", "c", "fail", "delete"))
	require.ErrorContains(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: boxToken, ID: "box-c", State: stuck}), "Stuck: The box stays.")
}

func TestImport(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.world.Set("box-old", 60)
	read, err := u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: "box-old"})
	require.NoError(t, err)
	require.Equal(t, "box-old", read.ID)
	requireAt(t, text("imported"), read.State, "made")
	require.True(t, object("name", "old", "size", 6).Equal(*read.Inputs), "%s", property.Object(*read.Inputs))
	require.Equal(t, abi.DiffChangesNone, u.diff(read.State, *read.Inputs, *read.Inputs).Changes)

	read, err = u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: "box-none"})
	require.NoError(t, err)
	require.Empty(t, read.ID)
	_, err = u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: "crate"})
	require.ErrorContains(t, err, "Not a box: IDs of boxes begin with box-.")
}

func TestAStateHasTheMetaOfPulumisBridge(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	_, state := u.create(object("name", "a"))
	var meta struct {
		SchemaVersion string            `json:"schema_version"`
		PrivateState  string            `json:"private_state"`
		Identity      map[string]string `json:"identity"`
	}
	value, _ := state.Get("__meta").Plain().AsString()
	require.NoError(t, json.Unmarshal([]byte(value), &meta))
	require.Equal(t, "1", meta.SchemaVersion)
	require.NotEmpty(t, meta.PrivateState)
	require.Equal(t, map[string]string{"name": "a"}, meta.Identity)
}

func TestStatesOfOlderSchemasAreUpgraded(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.world.Set("box-old", 50)
	for name, state := range map[string]property.Map{
		"of Husk": object("id", "x", "title", "old", "size", 5, "remarks", list(text("r")), "labels", object("someKey", "v"),
			"__meta", `{"names":{"remarks":"remark","labels.*":"*"}}`),
		"of Pulumi's bridge": object("id", "x", "title", "old", "size", 5, "remark", list(text("r"))),
	} {
		t.Run(name, func(t *testing.T) {
			read, err := u.Read(t.Context(), abi.ReadRequest{Type: boxToken, ID: "x", State: &state, Inputs: &property.Map{}})
			require.NoError(t, err)
			requireAt(t, text("old"), read.State, "name")
			requireAt(t, text("r"), read.State, "notes[0]")
			if name == "of Husk" {
				requireAt(t, text("someKey=v"), read.State, "notes[1]")
			}
			requireAt(t, number(5), read.State, "size")
		})
	}
	_, err := u.Read(t.Context(), abi.ReadRequest{Type: boxToken, ID: "x", State: new(object("name", "a", "__meta", `{"schema_version":"7"}`))})
	require.ErrorContains(t, err, "the recorded state is of version 7 of the schema of shelf_box, and this version of the provider has 1")
}

func TestTimeouts(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	response, err := u.Create(u.ctx(), abi.CreateRequest{Type: boxToken, Name: "it", Inputs: object("name", "a"), Timeout: 90})
	require.NoError(t, err)
	require.Contains(t, u.logged(), `warning Timeout: The box is made within "1m30s".`)
	require.False(t, response.State.Has("timeouts"))
	require.NoError(t, u.Delete(u.ctx(), abi.DeleteRequest{Type: boxToken, ID: response.ID, State: response.State, Timeout: 60}))
	require.Contains(t, u.logged(), `warning Timeout: The box is removed within "1m0s".`)
}

// A text of a provider that is no UTF-8 is one in the contract, and remains the same to the provider.
func TestTextsAreUTF8(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.token = labelToken
	inputs := object("text", strings.Repeat("ä", 20))
	_, state := u.create(inputs)
	requireAt(t, text("urn:label:"+strings.Repeat("ä", 15)+"\ufffd"), state, "labelUrn")
	require.Empty(t, u.changes(state, inputs, inputs))
}

func TestAResourceWithoutAnIDHasItsName(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.token = labelToken
	id, state := u.create(object("text", "fragile"))
	require.Equal(t, "it", id)
	requireAt(t, text("urn:label:fragile"), state, "labelUrn")
	require.Equal(t, []string{"text update"}, u.changes(state, object("text", "fragile"), object("text", "heavy")))
	require.True(t, u.diff(state, object("text", "fragile"), object("text", "heavy")).DeleteBeforeReplace,
		"the ID of a replacement is the same, so the old object would be taken for the new one")
}

func TestFunctions(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	u.create(object("name", "a1"))
	u.create(object("name", "a2"))
	invoke := func(name string, args property.Map) (abi.InvokeResponse, error) {
		return u.Invoke(u.ctx(), abi.InvokeRequest{Token: "shelf:index/" + name + ":" + name, Args: args})
	}
	response, err := invoke("getBoxCount", object("prefix", "a"))
	require.NoError(t, err)
	requireAt(t, number(2), response.Result, "number")
	response, err = invoke("getBoxCount", object())
	require.NoError(t, err)
	require.Equal(t, "prefix", response.Failures[0].Path)

	response, err = invoke("joinWords", object("separator", "-", "words", list(text("a"), text("b"))))
	require.NoError(t, err)
	requireAt(t, text("a-b"), response.Result, "result")
	response, err = invoke("joinWords", object("separator", "-"))
	require.NoError(t, err)
	requireAt(t, text(""), response.Result, "result")
	response, err = invoke("joinWords", object("separator", "-", "words", list(text("a"), text(""))))
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "words[1]", Reason: "an empty word"}}, response.Failures)
	response, err = invoke("measure", object("text", property.Secret(text("four"))))
	require.NoError(t, err)
	require.True(t, response.Result.Get("byteLength").IsSecret())
	requireAt(t, number(4), response.Result, "byteLength")

	_, err = invoke("getBoxCount", object("prefix", property.Unknown))
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	_, err = invoke("getBoxCounts", object())
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.ErrorContains(t, err, "did you mean shelf:getBoxCount?")
}

func TestEphemeralResources(t *testing.T) {
	const token = "shelf:index/openLock:openLock"
	u := boxes(t, terraform.Mapping{})
	f := u.pkg().Function(token)
	require.True(t, f.Ephemeral)
	require.True(t, f.Result.Property("combination").Secret)
	opened, err := u.OpenEphemeral(u.ctx(), abi.OpenEphemeralRequest{Token: token, Args: object("box", "a")})
	require.NoError(t, err)
	requireAt(t, text("1234-a"), opened.Result, "combination")
	require.True(t, opened.Result.Get("combination").IsSecret())
	require.Greater(t, opened.RenewAfter, float64(0))

	renewed, err := u.RenewEphemeral(u.ctx(), abi.RenewEphemeralRequest{Token: token, Private: opened.Private})
	require.NoError(t, err)
	require.Equal(t, opened.Private, renewed.Private)
	require.Zero(t, renewed.RenewAfter)
	require.NoError(t, u.CloseEphemeral(u.ctx(), abi.CloseEphemeralRequest{Token: token, Private: renewed.Private}))
	_, err = u.RenewEphemeral(u.ctx(), abi.RenewEphemeralRequest{Token: token, Private: renewed.Private})
	require.ErrorContains(t, err, "Not open: The lock is closed.")

	_, err = u.Invoke(u.ctx(), abi.InvokeRequest{Token: token, Args: object("box", "a")})
	require.ErrorIs(t, err, abi.ErrNotFound)
	refused, err := u.OpenEphemeral(u.ctx(), abi.OpenEphemeralRequest{Token: token})
	require.NoError(t, err)
	require.Equal(t, "box", refused.Failures[0].Path)
}

func TestActions(t *testing.T) {
	const token = "shelf:index/shake:shake"
	u := boxes(t, terraform.Mapping{})
	require.True(t, u.pkg().Function(token).Action)
	id, state := u.create(object("name", "a"))
	run := func(preview bool, id any) error {
		response, err := u.RunAction(u.ctx(), abi.RunActionRequest{Token: token, Args: object("boxId", id), Preview: preview})
		require.Empty(t, response.Failures)
		return err
	}
	weight := func() property.Value {
		read, err := u.Read(u.ctx(), abi.ReadRequest{Type: boxToken, ID: id, State: &state})
		require.NoError(t, err)
		return read.State.Get("weight")
	}
	require.NoError(t, run(true, id))
	require.NoError(t, run(true, property.Unknown))
	require.Equal(t, number(30), weight(), "a preview changes nothing")
	require.ErrorContains(t, run(false, property.Unknown), "not known")
	require.NoError(t, run(false, id))
	require.Equal(t, number(29), weight())
	require.Contains(t, u.logged(), "info shaking")
	err := run(false, "none")
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.ErrorContains(t, err, "boxId: No box: There is nothing to shake.")
}

func TestConfiguration(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	response, err := u.CheckConfig(u.ctx(), abi.CheckRequest{News: object("closed", "true", "room", "attic")})
	require.NoError(t, err)
	require.Empty(t, response.Failures)
	err = u.Configure(u.ctx(), abi.ConfigureRequest{Inputs: response.Inputs})
	require.ErrorContains(t, err, "The shelf is closed: Open it.")
	require.Contains(t, u.logged(), "warning It is hot in the attic: Boxes may melt.")

	require.NoError(t, u.Configure(u.ctx(), abi.ConfigureRequest{Inputs: object("room", property.Unknown)}))
	preview, err := u.Create(u.ctx(), abi.CreateRequest{Type: boxToken, Inputs: object("name", "a"), Preview: true})
	require.NoError(t, err)
	require.True(t, preview.State.Get("weight").IsUnknown())
	_, err = u.Invoke(u.ctx(), abi.InvokeRequest{Token: "shelf:index/getBoxCount:getBoxCount", Args: object("prefix", "a")})
	require.ErrorIs(t, err, abi.ErrUnavailable)
}

func TestMappingsForConverters(t *testing.T) {
	u := boxes(t, terraform.Mapping{})
	providers, err := u.GetMappings(u.ctx(), abi.GetMappingsRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, []string{"shelf"}, providers.Providers)
	response, err := u.GetMapping(u.ctx(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	var info struct {
		Resources map[string]struct {
			Tok    string
			ID     []string
			Fields map[string]struct{ Name string }
		}
		DataSources map[string]struct{ Tok string }
	}
	require.NoError(t, json.Unmarshal(response.Data, &info))
	require.Equal(t, boxToken, info.Resources["shelf_box"].Tok)
	require.Equal(t, "items", info.Resources["shelf_box"].Fields["item"].Name)
	require.Equal(t, "shelf:index/getBoxCount:getBoxCount", info.DataSources["shelf_box_count"].Tok)
	require.Empty(t, info.Resources["shelf_box"].ID)
	named := boxes(t, terraform.Mapping{Resources: map[string]terraform.Resource{"shelf_box": {ID: []string{"name", "size"}}}})
	response, err = named.GetMapping(named.ctx(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(response.Data, &info))
	require.Equal(t, []string{"name", "size"}, info.Resources["shelf_box"].ID)
	_, err = u.GetMapping(u.ctx(), abi.GetMappingRequest{Key: "cloudformation"})
	require.ErrorIs(t, err, abi.ErrNotFound)
}
