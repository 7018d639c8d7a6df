package guest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/internal/testprovider"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

const (
	animal = "zoo:index/animal:Animal"
	plaque = "zoo:index/plaque:Plaque"
)

// obj returns the object of these names and values, in turn.
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

func secret(v any) property.Value { return property.Secret(val(v)) }

// show shows maps so that a difference can be read.
func requireMap(t *testing.T, want, got property.Map, why ...any) {
	t.Helper()
	require.Equal(t, property.Object(want).String(), property.Object(got).String())
	require.Equal(t, want, got, why...)
}

// configured returns the zoo, natively, with a configuration.
func configured(t *testing.T) abi.Provider {
	t.Helper()
	p, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: obj("token", secret("t"), "region", "north")}))
	return p
}

func TestHandshake(t *testing.T) {
	response, err := configured(t).Handshake(t.Context(), abi.HandshakeRequest{
		Engine: "test", Features: abi.FeaturesSecrets | abi.FeaturesPreview | abi.FeaturesOutputs | 1<<7})
	require.NoError(t, err)
	require.Equal(t, abi.HandshakeResponse{
		Name: "zoo", Version: "1.2.3", SDK: guest.SDK, Features: abi.FeaturesSecrets | abi.FeaturesPreview | abi.FeaturesOutputs,
		Requests: []abi.CapabilityRequest{{Capability: "http", Scope: "https://zoo.example.org", Reason: "the gate", Optional: true}},
	}, response)
}

func TestCheck(t *testing.T) {
	p := configured(t)
	for _, test := range []struct {
		name     string
		inputs   property.Map
		want     property.Map
		failures []abi.CheckFailure
	}{
		{name: "defaults of the tags and of Check", inputs: obj("name", "Rex"), want: obj("name", "Rex", "legs", 4, "handle", "h-Rex")},
		{name: "what is given is kept", inputs: obj("name", "Rex", "legs", 2, "handle", "r"), want: obj("name", "Rex", "legs", 2, "handle", "r")},
		{name: "unknowns stay unknown", inputs: obj("name", property.Unknown, "legs", property.Unknown),
			want: obj("name", property.Unknown, "legs", property.Unknown)},
		{name: "an unknown default stays unknown", inputs: obj("name", "Rex", "handle", property.Unknown),
			want: obj("name", "Rex", "legs", 4, "handle", property.Unknown)},
		{name: "secrets stay secret", inputs: obj("name", secret("Rex"), "tags", obj("a", secret("b"))),
			want: obj("name", secret("Rex"), "legs", 4, "handle", "h-Rex", "tags", obj("a", secret("b")))},
		{name: "secret tags", inputs: obj("name", "Rex", "password", "p", "home", obj("street", "s", "key", "k")),
			want: obj("name", "Rex", "legs", 4, "handle", "h-Rex", "password", secret("p"), "home", obj("street", "s", "rooms", 1, "key", secret("k")))},
		{name: "what Check changes deep inside", inputs: obj("name", "Rex", "home", obj("street", " s ", "annex", obj("street", property.Unknown))),
			want: obj("name", "Rex", "legs", 4, "handle", "h-Rex", "home", obj("street", "s", "rooms", 1, "annex", obj("street", property.Unknown, "rooms", 1)))},
		{name: "a secret that Check changes", inputs: obj("name", "Rex", "home", secret(obj("street", " s "))),
			want: obj("name", "Rex", "legs", 4, "handle", "h-Rex", "home", secret(obj("street", "s", "rooms", 1)))},
		{name: "any value", inputs: obj("name", "Rex", "notes", []any{1, secret("x"), property.Unknown}),
			want: obj("name", "Rex", "legs", 4, "handle", "h-Rex", "notes", []any{1, secret("x"), property.Unknown})},
		{name: "a rule of Check", inputs: obj("name", "Rex", "legs", 3), failures: []abi.CheckFailure{{Path: "legs", Reason: "must be even, not 3"}}},
		{name: "the schema comes first", inputs: obj("legs", 9, "nmae", "Rex"), failures: []abi.CheckFailure{
			{Path: "legs", Reason: "must be at most 8"},
			{Path: "nmae", Reason: `no such property; did you mean "name"?`},
			{Path: "name", Reason: "required property is missing; expected string"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := p.Check(t.Context(), abi.CheckRequest{Type: animal, News: test.inputs})
			require.NoError(t, err)
			require.Equal(t, test.failures, response.Failures)
			if test.failures == nil {
				requireMap(t, test.want, response.Inputs)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	p := configured(t)
	inputs := obj("name", "Rex", "legs", 4, "handle", "h", "tags", obj("zoo", "1", "a", "1"))
	state := obj("name", "Rex", "legs", 4, "handle", "h", "tags", obj("zoo", "1", "a", "1"), "weight", 0, "sound", "grr", "number", 1, "chip", "c")
	for _, test := range []struct {
		name            string
		news            property.Map
		ignore          []string
		want            []abi.PropertyDiff
		replaces, stays []string
	}{
		{name: "nothing", news: inputs, stays: []string{"handle", "legs", "name", "tags", "number"}},
		{name: "taken out by Diff", news: inputs.With("tags", val(obj("zoo", "2", "a", "1"))), stays: []string{"handle", "legs", "name", "number"}},
		{name: "update", news: inputs.With("legs", val(6)), stays: []string{"handle", "name", "tags", "number"},
			want: []abi.PropertyDiff{{Path: "legs", Kind: abi.DiffKindUpdate}}},
		{name: "made a replacement by Diff", news: inputs.With("legs", val(2)),
			want: []abi.PropertyDiff{{Path: "legs", Kind: abi.DiffKindUpdateReplace}}, replaces: []string{"legs"}},
		{name: "replacement by tag", news: inputs.With("name", val("Max")),
			want: []abi.PropertyDiff{{Path: "name", Kind: abi.DiffKindUpdateReplace}}, replaces: []string{"name"}},
		{name: "unknown", news: inputs.With("legs", property.Unknown), stays: []string{"handle", "name", "tags", "number"},
			want: []abi.PropertyDiff{{Path: "legs", Kind: abi.DiffKindUpdate}}},
		{name: "added by Diff", news: inputs.With("legs", val(8)), stays: []string{"name", "tags", "number"},
			want: []abi.PropertyDiff{{Path: "legs", Kind: abi.DiffKindUpdate}, {Path: "handle", Kind: abi.DiffKindUpdate}}},
		{name: "added by Diff, but ignored", news: inputs.With("legs", val(8)), ignore: []string{"handle"},
			stays: []string{"handle", "name", "tags", "number"}, want: []abi.PropertyDiff{{Path: "legs", Kind: abi.DiffKindUpdate}}},
		{name: "ignored", news: inputs.With("name", val("Max")), ignore: []string{"name"}, stays: []string{"handle", "legs", "name", "tags", "number"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := p.Diff(t.Context(), abi.DiffRequest{
				Type: animal, ID: "x", Olds: state, OldInputs: inputs, News: test.news, IgnoreChanges: test.ignore})
			require.NoError(t, err)
			require.Equal(t, test.want, response.DetailedDiff)
			require.Equal(t, test.replaces, response.ReplaceKeys)
			require.ElementsMatch(t, test.stays, response.StableKeys)
			require.Equal(t, len(test.want) > 0, response.Changes == abi.DiffChangesSome)
			require.Equal(t, len(test.want) > 0, len(response.ChangedKeys) > 0)
		})
	}
}

func TestDiffWithoutUpdateReplaces(t *testing.T) {
	response, err := configured(t).Diff(t.Context(), abi.DiffRequest{
		Type: plaque, OldInputs: obj("text", "a", "font", "sans"), Olds: obj("text", "a", "font", "sans", "area", 1), News: obj("text", "b", "font", "sans")})
	require.NoError(t, err)
	require.Equal(t, []abi.PropertyDiff{{Path: "text", Kind: abi.DiffKindUpdateReplace}}, response.DetailedDiff)
	require.True(t, response.DeleteBeforeReplace)
}

func TestCreate(t *testing.T) {
	p := configured(t)
	inputs := obj("name", "Rex", "legs", 2, "handle", "h", "password", secret("p"), "tags", obj("a", secret("b"), "c", "d"),
		"home", obj("street", "s", "rooms", 2, "key", secret("k")), "visits", obj("x", obj("street", "v", "rooms", 1)),
		"scores", obj("a", []any{1, 2}), "sizes", []any{obj("street", "z", "rooms", 3)}, "diet", []any{"meat"},
		"tame", secret(true), "notes", obj("n", []any{nil, 1.5}))
	response, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Name: "rex", Inputs: inputs})
	require.NoError(t, err)
	require.Equal(t, "animal-Rex", response.ID)
	requireMap(t, obj("name", "Rex", "legs", 2, "handle", "h", "weight", 0, "password", secret("p"), "tags", obj("a", secret("b"), "c", "d"),
		"home", obj("street", "s", "rooms", 2, "key", secret("k")), "visits", obj("x", obj("street", "v", "rooms", 1, "key", secret(""))),
		"scores", obj("a", []any{1, 2}), "sizes", []any{obj("street", "z", "rooms", 3, "key", secret(""))}, "diet", []any{"meat"},
		"tame", secret(true), "notes", obj("n", []any{nil, 1.5}),
		"sound", "grrgrr", "number", 1, "chip", secret("chip-Rex")), response.State)
}

// awaited is a context that ends once somebody waits for its end.
type awaited struct {
	context.Context
	cancel context.CancelFunc
}

func (c *awaited) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

func TestCreateFailures(t *testing.T) {
	p := configured(t)
	create := func(t *testing.T, name string) *abi.Error {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Inputs: obj("name", name, "legs", 0, "handle", "h")})
		require.Error(t, err)
		return abi.AsError(err)
	}
	t.Run("unhealthy", func(t *testing.T) {
		err := create(t, "unhealthy")
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, "animal-unhealthy", err.InitFailure.ID)
		require.Equal(t, []string{"it limps", "it coughs"}, err.InitFailure.Reasons)
		require.Equal(t, secret("chip-unhealthy"), err.InitFailure.State.Get("chip"))
	})
	t.Run("any error beside an ID", func(t *testing.T) {
		err := create(t, "exhausted")
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, "animal-exhausted", err.InitFailure.ID)
		require.Equal(t, []string{"it fell asleep"}, err.InitFailure.Reasons)
	})
	t.Run("a state that cannot be told, of a resource that exists", func(t *testing.T) {
		err := create(t, "huge")
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, "animal-huge", err.InitFailure.ID)
		require.Contains(t, err.InitFailure.Reasons[0], "2^53")
		require.True(t, err.InitFailure.RefreshBeforeUpdate)
		require.Equal(t, property.String("huge"), err.InitFailure.State.Get("name"))
		olds := obj("name", "small", "chip", secret("chip-small"), "number", 7)
		_, updated := p.Update(t.Context(), abi.UpdateRequest{Type: animal, ID: "animal-huge", Olds: olds, News: obj("name", "huge", "legs", 0, "handle", "h")})
		require.ErrorIs(t, updated, abi.ErrInitFailed)
		left := abi.AsError(updated).InitFailure
		require.Equal(t, "animal-huge", left.ID)
		require.True(t, left.RefreshBeforeUpdate)
		require.Equal(t, property.String("huge"), left.State.Get("name"))
		require.Equal(t, property.Number(7), left.State.Get("number"))
		require.Equal(t, secret("chip-small"), left.State.Get("chip"))
	})
	t.Run("nothing was created", func(t *testing.T) {
		err := create(t, "broken")
		require.ErrorIs(t, err, abi.ErrInternal)
		require.Equal(t, "no such animal can exist", err.Message)
	})
	t.Run("no ID", func(t *testing.T) {
		err := create(t, "anonymous")
		require.ErrorContains(t, err, "returned no ID")
		require.Equal(t, abi.ErrorKindCrashed, err.Kind, "nobody knows whether there is an animal")
	})
	t.Run("timeout", func(t *testing.T) {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Timeout: 0.01, Inputs: obj("name", "wait", "legs", 0, "handle", "h")})
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, []string{"context deadline exceeded"}, abi.AsError(err).InitFailure.Reasons)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.Create(&awaited{ctx, cancel}, abi.CreateRequest{Type: animal, Inputs: obj("name", "wait", "legs", 0, "handle", "h")})
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, "animal-wait", abi.AsError(err).InitFailure.ID)
	})
	t.Run("cancelled before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Create(ctx, abi.CreateRequest{Type: animal, Inputs: obj("name", "Rex", "legs", 0, "handle", "h")})
		require.ErrorIs(t, err, abi.ErrCancelled)
	})
	t.Run("unknown input", func(t *testing.T) {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Inputs: obj("name", property.Unknown)})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.Equal(t, "name", abi.AsError(err).Path)
	})
	t.Run("unknown type", func(t *testing.T) {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: "zoo:index:Animals"})
		require.ErrorIs(t, err, abi.ErrNotFound)
		require.ErrorContains(t, err, "the package zoo 1.2.3 has no resource type zoo:index:Animals; did you mean zoo:Animal?")
	})
}

func TestPreview(t *testing.T) {
	p := configured(t)
	unknown := property.Unknown
	t.Run("create, all known", func(t *testing.T) {
		response, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Preview: true, Inputs: obj("name", secret("broken"), "legs", 2, "tame", true)})
		require.NoError(t, err)
		require.Empty(t, response.ID)
		requireMap(t, obj("name", secret("broken"), "legs", 2, "tame", true, "weight", 0, "tags", nil, "diet", nil, "home", nil,
			"sizes", nil, "visits", nil, "scores", nil, "notes", nil, "password", secret(""), "handle", unknown,
			"sound", "grrgrr", "number", unknown, "chip", property.Secret(unknown)), response.State)
	})
	t.Run("create, something unknown", func(t *testing.T) {
		response, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Preview: true, Inputs: obj("name", unknown, "legs", 2, "handle", "h")})
		require.NoError(t, err)
		require.Equal(t, unknown, response.State.Get("name"))
		require.Equal(t, val(2), response.State.Get("legs"))
		require.Equal(t, unknown, response.State.Get("sound"))
	})
	t.Run("update", func(t *testing.T) {
		response, err := p.Update(t.Context(), abi.UpdateRequest{Type: animal, ID: "x", Preview: true,
			News: obj("name", "Rex", "legs", 4, "handle", "h"), OldInputs: obj("name", "Rex", "legs", 2, "handle", "h"),
			Olds: obj("name", "Rex", "legs", 2, "handle", "h", "sound", "grrgrr", "number", 5, "chip", secret("c"))})
		require.NoError(t, err)
		require.Equal(t, val(4), response.State.Get("legs"))
		require.Equal(t, val("grrgrrgrrgrr"), response.State.Get("sound"))
		require.Equal(t, val(5), response.State.Get("number"), "stable")
		require.Equal(t, property.Secret(unknown), response.State.Get("chip"))
	})
	t.Run("agrees with create", func(t *testing.T) {
		inputs := obj("name", "Rex", "legs", 2, "handle", "h", "diet", []any{}, "weight", 0,
			"home", obj("street", secret("s"), "rooms", 1, "annex", obj("street", "a", "rooms", 2)))
		preview, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Preview: true, Inputs: inputs})
		require.NoError(t, err)
		created, err := p.Create(t.Context(), abi.CreateRequest{Type: animal, Inputs: inputs})
		require.NoError(t, err)
		for name, v := range preview.State.All() {
			if !v.ContainsUnknowns() {
				require.True(t, v.Equal(created.State.Get(name)), "%s: %s, then %s", name, v, created.State.Get(name))
			}
		}
	})
}

func TestRead(t *testing.T) {
	p := configured(t)
	state := obj("name", "Rex", "legs", 4, "handle", "h", "weight", secret(1), "sound", "grr", "number", 1, "chip", "c", "__meta", "x")
	inputs := obj("name", secret("Rex"), "legs", 4, "handle", "h", "weight", 0)
	t.Run("refresh", func(t *testing.T) {
		response, err := p.Read(t.Context(), abi.ReadRequest{Type: animal, ID: "x", State: &state, Inputs: &inputs})
		require.NoError(t, err)
		require.Equal(t, "x", response.ID)
		requireMap(t, obj("name", secret("Rex"), "legs", 4, "handle", "h", "weight", secret(2), "password", secret(""), "sound", "grr", "number", 1, "chip", secret("c")), response.State)
		requireMap(t, obj("name", secret("Rex"), "legs", 4, "handle", "h", "weight", 0), *response.Inputs, "as it was given")
	})
	t.Run("import", func(t *testing.T) {
		response, err := p.Read(t.Context(), abi.ReadRequest{Type: animal, ID: "animal-Max"})
		require.NoError(t, err)
		require.Equal(t, val(7), response.State.Get("number"))
		requireMap(t, obj("name", "Max", "legs", 4, "handle", "h-Max"), *response.Inputs, "as a program would give them")
		checked, err := p.Check(t.Context(), abi.CheckRequest{Type: animal, News: *response.Inputs})
		require.NoError(t, err)
		require.Empty(t, checked.Failures, "inputs that were read are valid")
		diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: animal, ID: response.ID, Olds: response.State, OldInputs: *response.Inputs, News: checked.Inputs})
		require.NoError(t, err)
		require.Empty(t, diff.DetailedDiff)
	})
	t.Run("import of nonsense", func(t *testing.T) {
		_, err := p.Read(t.Context(), abi.ReadRequest{Type: animal, ID: "Max"})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
	})
	t.Run("gone", func(t *testing.T) {
		state := state.With("name", val("gone"))
		response, err := p.Read(t.Context(), abi.ReadRequest{Type: animal, ID: "x", State: &state, Inputs: &inputs})
		require.NoError(t, err)
		require.Empty(t, response.ID)
	})
	t.Run("without Read", func(t *testing.T) {
		state, inputs := obj("text", secret("a"), "area", 1), obj("text", "a")
		response, err := p.Read(t.Context(), abi.ReadRequest{Type: plaque, ID: "x", State: &state, Inputs: &inputs})
		require.NoError(t, err)
		requireMap(t, state, response.State)
		requireMap(t, inputs, *response.Inputs)

		_, err = p.Read(t.Context(), abi.ReadRequest{Type: plaque, ID: "x"})
		require.ErrorIs(t, err, abi.ErrUnimplemented)
		require.ErrorContains(t, err, "cannot be imported")
	})
	t.Run("a state of another version", func(t *testing.T) {
		state := state.With("number", val("one"))
		_, err := p.Read(t.Context(), abi.ReadRequest{Type: animal, ID: "x", State: &state, Inputs: &inputs})
		require.ErrorIs(t, err, abi.ErrInternal)
		require.Equal(t, "number", abi.AsError(err).Path)
		require.ErrorContains(t, err, "does not fit this version of the provider: expected integer, got string")
	})
}

func TestUpdate(t *testing.T) {
	p := configured(t)
	request := abi.UpdateRequest{Type: animal, ID: "x",
		OldInputs: obj("name", "Rex", "legs", 2, "handle", "h", "weight", secret(1)),
		Olds:      obj("name", "Rex", "legs", 2, "handle", "h", "weight", secret(1), "sound", "grrgrr", "number", 5, "chip", secret("c"))}
	t.Run("done", func(t *testing.T) {
		request.News = obj("name", "Rex", "legs", 4, "handle", "h", "weight", 2)
		response, err := p.Update(t.Context(), request)
		require.NoError(t, err)
		requireMap(t, obj("name", "Rex", "legs", 4, "handle", "h", "weight", 2, "password", secret(""),
			"sound", "grrgrrgrrgrr", "number", 5, "chip", secret("chip-Rex")), response.State)
	})
	t.Run("refused", func(t *testing.T) {
		request.News = obj("name", "Rex", "legs", 2, "handle", "h", "weight", -1)
		_, err := p.Update(t.Context(), request)
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.Equal(t, "weight", abi.AsError(err).Path)
	})
	t.Run("unhealthy", func(t *testing.T) {
		request.News = obj("name", "Rex", "legs", 2, "handle", "h", "weight", 2000)
		_, err := p.Update(t.Context(), request)
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, "x", abi.AsError(err).InitFailure.ID)
		require.Equal(t, val(2000), abi.AsError(err).InitFailure.State.Get("weight"))
	})
	t.Run("without Update", func(t *testing.T) {
		_, err := p.Update(t.Context(), abi.UpdateRequest{Type: plaque, ID: "x"})
		require.ErrorIs(t, err, abi.ErrUnimplemented)
	})
}

func TestDelete(t *testing.T) {
	p := configured(t)
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{Type: animal, ID: "x", State: obj("name", "Rex")}))
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{Type: animal, ID: "x", State: obj("name", "gone")}), "gone already")
	err := p.Delete(t.Context(), abi.DeleteRequest{Type: animal, ID: "x", State: obj("name", "broken")})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.Equal(t, abi.ErrorOriginRemote, abi.AsError(err).Origin)
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{Type: plaque, ID: "x", State: obj("area", "not what it was")}))
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{Type: "zoo:old:Beast", ID: "x", State: obj("name", "Rex")}), "by an alias")
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{URN: "urn:pulumi:s::p::a:b:C$" + animal + "::n", ID: "x", State: obj("name", "Rex")}), "by the URN's type")
}

func TestInvoke(t *testing.T) {
	p := configured(t)
	for _, test := range []struct {
		name string
		args property.Map
		want property.Map
	}{
		{"plain", obj("name", "Ann"), obj("text", "Hello, Ann! ", "region", "north")},
		{"secret argument", obj("name", secret("Ann"), "times", 2), obj("text", secret("Hello, Ann! Hello, Ann! "), "region", secret("north"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: test.args})
			require.NoError(t, err)
			requireMap(t, test.want, response.Result)
		})
	}
	response, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: obj("times", 4)})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "times", Reason: "must be at most 3"}, {Path: "name", Reason: "required property is missing; expected string"}}, response.Failures)

	_, err = p.Invoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: obj("name", "nobody")})
	require.ErrorIs(t, err, abi.ErrNotFound)
	_, err = p.Invoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: obj("name", property.Unknown)})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	_, err = p.Invoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/great:great"})
	require.ErrorContains(t, err, "did you mean zoo:greet?")
}

func TestConfiguration(t *testing.T) {
	p, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	ctx := t.Context()

	checked, err := p.CheckConfig(ctx, abi.CheckRequest{News: obj("token", "t", "depth", "3")})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	requireMap(t, obj("region", "north", "token", secret("t"), "depth", 3), checked.Inputs)

	checked, err = p.CheckConfig(ctx, abi.CheckRequest{News: obj("tokn", "t")})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "tokn", Reason: `no such configuration key; did you mean "token"?`},
		{Path: "token", Reason: "required property is missing; expected string"}}, checked.Failures)

	diff, err := p.DiffConfig(ctx, abi.DiffRequest{Olds: obj("region", "north", "token", "a"), OldInputs: obj("region", "north", "token", "a"), News: obj("region", "south", "token", "b")})
	require.NoError(t, err)
	require.Equal(t, []string{"region"}, diff.ReplaceKeys)
	require.Equal(t, []string{"region", "token"}, diff.ChangedKeys)

	err = p.Configure(ctx, abi.ConfigureRequest{Inputs: obj("region", "north")})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.Equal(t, []abi.MissingKey{{Name: "token", Description: "What opens the zoo's gate."}}, abi.AsError(err).MissingKeys)

	err = p.Configure(ctx, abi.ConfigureRequest{Inputs: obj("token", "wrong")})
	require.ErrorContains(t, err, "the gate stays closed")
}

// In a preview, a configuration may come from a resource that does not exist yet.
func TestUnknownConfiguration(t *testing.T) {
	p, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	ctx := t.Context()
	require.NoError(t, p.Configure(ctx, abi.ConfigureRequest{Inputs: obj("token", property.Unknown)}))

	checked, err := p.Check(ctx, abi.CheckRequest{Type: animal, News: obj("name", "Rex", "legs", 3)})
	require.NoError(t, err)
	require.Empty(t, checked.Failures, "the author's Check, which counts legs, is not called")

	created, err := p.Create(ctx, abi.CreateRequest{Type: animal, Preview: true, Inputs: checked.Inputs})
	require.NoError(t, err)
	require.Equal(t, val("Rex"), created.State.Get("name"))
	require.Equal(t, property.Unknown, created.State.Get("sound"))

	for _, err := range []error{
		func() error { _, err := p.Create(ctx, abi.CreateRequest{Type: animal}); return err }(),
		func() error { _, err := p.Read(ctx, abi.ReadRequest{Type: animal, ID: "x"}); return err }(),
		func() error { _, err := p.Invoke(ctx, abi.InvokeRequest{Token: "zoo:index/greet:greet"}); return err }(),
		p.Delete(ctx, abi.DeleteRequest{Type: animal, ID: "x"}),
	} {
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "not known in this preview")
	}
}

type logged []abi.LogEntry

func (l *logged) Write(_ context.Context, entry abi.LogEntry) { *l = append(*l, entry) }

func TestLog(t *testing.T) {
	var entries logged
	ctx := guest.WithLog(t.Context(), &entries)
	_, err := configured(t).Create(ctx, abi.CreateRequest{URN: "urn:pulumi:s::p::" + animal + "::rex", Type: animal, Inputs: obj("name", "Rex")})
	require.NoError(t, err)
	require.Equal(t, logged{{Severity: abi.LogSeverityInfo, Message: "creating Rex", URN: "urn:pulumi:s::p::" + animal + "::rex"}}, entries)
}

func TestListAndMappings(t *testing.T) {
	p, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	pages, err := listed(t.Context(), p, abi.ListRequest{Token: plaque, Limit: 3})
	require.NoError(t, err)
	require.Equal(t, [][]abi.ListedResource{{{ID: "plaque-a", Name: "a"}, {ID: "plaque-b", Name: "b"}}, {{ID: "plaque-c", Name: "c"}}}, pages)
	_, err = p.List(t.Context(), abi.ListRequest{Token: animal})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
	_, err = p.List(t.Context(), abi.ListRequest{Token: "zoo:index:Beast"})
	require.ErrorIs(t, err, abi.ErrNotFound)

	mappings, err := p.GetMappings(t.Context(), abi.GetMappingsRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, []string{"menagerie", "aquarium"}, mappings.Providers)
	mapping, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, abi.GetMappingResponse{Provider: "menagerie", Data: []byte("animals")}, mapping)
	_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "bicep"})
	require.EqualError(t, err, "zoo has no mapping for bicep")
}

type wordsInputs struct {
	Words []string `husk:"words"`
}

type wordsState struct {
	wordsInputs
	Longest string   `husk:"longest"`
	Sorted  []string `husk:"sorted"`
	Joined  string   `husk:"joined"`
}

type words struct{}

func (words) Create(_ context.Context, r guest.CreateRequest[wordsInputs]) (guest.CreateResponse[wordsState], error) {
	list := r.Inputs.Words
	return guest.CreateResponse[wordsState]{ID: "-", State: wordsState{r.Inputs, list[0], []string{list[1], list[0]}, list[0] + list[1]}}, nil
}

// An author's code does not see which inputs are secret, and may well answer a secret
// under another name. Short texts are not looked for: they would be found anywhere.
func TestSecretsUnderOtherNames(t *testing.T) {
	p, err := guest.New(guest.Provider{
		Name: "words", Version: "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf("words:index:Words", words{})},
	})
	require.NoError(t, err)
	response, err := p.Create(t.Context(), abi.CreateRequest{
		Type: "words:index:Words", Name: "n", Inputs: obj("words", []any{secret("a long word"), secret("short")}),
	})
	require.NoError(t, err)
	requireMap(t, obj(
		"words", []any{secret("a long word"), secret("short")},
		"longest", secret("a long word"), "sorted", []any{"short", secret("a long word")}, "joined", "a long wordshort",
	), response.State)
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestSchema(t *testing.T) {
	response, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(response.Schema), "", "  "))
	indented.WriteByte('\n')
	const golden = "testdata/zoo.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, indented.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), indented.String())

	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	parsed, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	require.Equal(t, response.Schema, string(parsed.AppendJSON(nil)), "the host reads all of what the guest writes")
}

func TestSchemaRefuses(t *testing.T) {
	_, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{Version: 1})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	_, err = configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: "x"})
	require.ErrorIs(t, err, abi.ErrNotFound)
}

type thingInputs struct {
	Size int `husk:"size"`
}

type thingState struct{ thingInputs }

type thing struct{}

func (thing) Create(context.Context, guest.CreateRequest[thingInputs]) (guest.CreateResponse[thingState], error) {
	return guest.CreateResponse[thingState]{ID: "x"}, nil
}

// misfit has an Update whose types are not those of its Create.
type misfit struct{ thing }

func (misfit) Update(context.Context, guest.UpdateRequest[thingInputs, thingInputs]) (guest.UpdateResponse[thingInputs], error) {
	return guest.UpdateResponse[thingInputs]{}, nil
}

type namedState struct {
	ID string `husk:"id"`
}

type named struct{}

func (named) Create(context.Context, guest.CreateRequest[thingInputs]) (guest.CreateResponse[namedState], error) {
	return guest.CreateResponse[namedState]{}, nil
}

type unknownReference struct {
	To property.ResourceReference `husk:"to,resource=p:index:Nothing"`
}

type foreignReference struct {
	To []property.ResourceReference `husk:"to,resource=q:index:Thing"`
}

type noReference struct {
	To string `husk:"to,resource=p:index:Thing"`
}

type pointing[T any] struct{}

func (pointing[T]) Create(context.Context, guest.CreateRequest[T]) (guest.CreateResponse[T], error) {
	return guest.CreateResponse[T]{}, nil
}

func TestNewRefuses(t *testing.T) {
	provider := func(resources ...guest.Resource) guest.Provider {
		return guest.Provider{Name: "p", Version: "1.0.0", Resources: resources}
	}
	for name, test := range map[string]struct {
		provider guest.Provider
		want     string
	}{
		"no name":         {guest.Provider{Version: "1.0.0"}, "its name and version must not be empty"},
		"no version":      {guest.Provider{Name: "p"}, "its name and version must not be empty"},
		"foreign token":   {provider(guest.ResourceOf("q:index:Thing", thing{})), "resource q:index:Thing: its token must begin with p:"},
		"no token":        {provider(guest.ResourceOf("Thing", thing{})), "a token has the form <package>:<module>:<name>"},
		"twice":           {provider(guest.ResourceOf("p:index:Thing", thing{}), guest.ResourceOf("p:index:Thing", thing{})), "resource p:index:Thing: it is declared twice"},
		"an empty one":    {provider(guest.Resource{}), "it was not made by guest.ResourceOf"},
		"reserved output": {provider(guest.ResourceOf("p:index:Named", named{})), `its state must not have a property "id"`},
		"method that does not fit": {provider(guest.ResourceOf("p:index:Misfit", misfit{})),
			"resource p:index:Misfit: the method Update of guest_test.misfit does not have the types that guest.Updater asks for"},
		"reference to nothing": {provider(guest.ResourceOf("p:index:Thing", pointing[unknownReference]{})),
			"the field To refers to the resource p:index:Nothing, which the package does not have"},
		"reference to another package": {provider(guest.ResourceOf("p:index:Thing", pointing[foreignReference]{})),
			"resource=q:index:Thing: write a token of the package p, or /<package>/v<version>/schema.json#/resources/<token> for one of another package"},
		"reference that is none": {provider(guest.ResourceOf("p:index:Thing", pointing[noReference]{})),
			"resource=: only a property.ResourceReference, or a slice or map of them, can have it"},
		"configuration": {guest.Provider{Name: "p", Version: "1.0.0", Config: guest.ConfigOf(func(context.Context, int) error { return nil })},
			"provider p: configuration: int is not a struct"},
		"function": {guest.Provider{Name: "p", Version: "1.0.0", Functions: []guest.Function{
			guest.FunctionOf("p:index:f", func(context.Context, thingInputs) (struct{ A string }, error) { return struct{ A string }{}, nil })}},
			"function p:index:f: .A: it has no husk tag"},
		"function of another package": {guest.Provider{Name: "p", Version: "1.0.0", Functions: []guest.Function{
			guest.FunctionOf("q:index:f", func(context.Context, thingInputs) (thingInputs, error) { return thingInputs{}, nil })}},
			"function q:index:f: its token must begin with p:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guest.New(test.provider)
			require.ErrorContains(t, err, test.want)
		})
	}
}

type crateInputs struct {
	Label string `husk:"label,autoname=16"`
}

type crate struct{}

func (crate) Create(_ context.Context, r guest.CreateRequest[crateInputs]) (guest.CreateResponse[crateInputs], error) {
	return guest.CreateResponse[crateInputs]{ID: r.Inputs.Label, State: r.Inputs}, nil
}

func TestAutoname(t *testing.T) {
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf("p:index:Crate", crate{})}})
	require.NoError(t, err)
	old := obj("label", "logs-old")
	for name, test := range map[string]struct {
		program string
		olds    *property.Map
		news    property.Map
		policy  *abi.Autonaming
		want    any
		fails   []abi.CheckFailure
	}{
		"made up":                {program: "logs", want: "logs-7777777"},
		"cut":                    {program: "an-ever-growing-name", want: "an-ever--7777777"},
		"cut between characters": {program: "ÄÖÜäöüßÄÖÜäöü", want: "ÄÖÜäöüßÄ-7777777"},
		"given":                  {program: "logs", news: obj("label", "mine"), olds: &old, want: "mine"},
		"not known":              {program: "logs", news: obj("label", property.Unknown), want: property.Unknown},
		"kept":                   {program: "logs", olds: &old, want: "logs-old"},
		"proposed":               {program: "logs", policy: &abi.Autonaming{ProposedName: "dev-logs"}, want: "dev-logs"},
		"proposed, kept":         {program: "logs", olds: &old, policy: &abi.Autonaming{ProposedName: "dev-logs"}, want: "logs-old"},
		"does not fit":           {program: "logs", policy: &abi.Autonaming{ProposedName: "development-logs-0123"}, want: "logs-7777777"},
		"enforced":               {program: "logs", policy: &abi.Autonaming{ProposedName: "logs", Mode: abi.AutonamingModeEnforce}, want: "logs"},
		"enforced, does not fit": {program: "logs", policy: &abi.Autonaming{ProposedName: "development-logs-0123", Mode: abi.AutonamingModeEnforce},
			fails: []abi.CheckFailure{{Path: "label", Reason: "the name that pulumi:autonaming asks for, development-logs-0123, is longer than 16 characters"}}},
		"disabled": {program: "logs", policy: &abi.Autonaming{Mode: abi.AutonamingModeDisable},
			fails: []abi.CheckFailure{{Path: "label", Reason: "required property is missing, since pulumi:autonaming lets no name be made up; expected string"}}},
		"disabled, given": {program: "logs", news: obj("label", "mine"), policy: &abi.Autonaming{Mode: abi.AutonamingModeDisable}, want: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := p.Check(t.Context(), abi.CheckRequest{
				Type: "p:index:Crate", Name: test.program, Olds: test.olds, News: test.news,
				Autonaming: test.policy, RandomSeed: bytes.Repeat([]byte{0xa7}, 32),
			})
			require.NoError(t, err)
			require.Equal(t, test.fails, response.Failures)
			if test.fails == nil {
				require.Equal(t, obj("label", test.want), response.Inputs)
			}
		})
	}
}

type shortName struct {
	Label string `husk:"label,autoname=8"`
}

type twoNames struct {
	Label string  `husk:"label,autoname"`
	Other *string `husk:"other,autoname"`
}

type numberName struct {
	Label int `husk:"label,autoname"`
}

func TestAutonameRefused(t *testing.T) {
	for want, resource := range map[string]guest.Resource{
		"autoname=8 must be the number of characters that a name may have, 9 or more": guest.ResourceOf("p:index:Crate", pointing[shortName]{}),
		"Other: autoname: only one input of a resource can have it, which is text":    guest.ResourceOf("p:index:Crate", pointing[twoNames]{}),
		"Label: autoname: only one input of a resource can have it, which is text":    guest.ResourceOf("p:index:Crate", pointing[numberName]{}),
	} {
		_, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Resources: []guest.Resource{resource}})
		require.ErrorContains(t, err, want)
	}
	type named struct {
		Label string `husk:"label,autoname"`
	}
	for want, provider := range map[string]guest.Provider{
		"provider p: configuration: label: autoname is for the inputs of resources": {
			Config: guest.ConfigOf(func(context.Context, named) error { return nil }),
		},
		"provider p: function p:index:f: label: autoname is for the inputs of resources": {
			Functions: []guest.Function{guest.FunctionOf("p:index:f", func(context.Context, named) (struct{}, error) { return struct{}{}, nil })},
		},
	} {
		provider.Name, provider.Version = "p", "1.0.0"
		_, err := guest.New(provider)
		require.EqualError(t, err, want)
	}
}

type beaconInputs struct {
	Hill string `husk:"hill"`
}

// beacons cannot be read, but seen.
type beacons struct{}

func (beacons) Create(_ context.Context, r guest.CreateRequest[beaconInputs]) (guest.CreateResponse[beaconInputs], error) {
	return guest.CreateResponse[beaconInputs]{ID: r.Inputs.Hill, State: r.Inputs}, nil
}

func (beacons) Exists(_ context.Context, r guest.ExistsRequest) (bool, error) {
	if r.ID == "fog" {
		return false, errors.New("nothing can be seen")
	}
	return r.ID == "hill", nil
}

// A resource that cannot be read, but tells whether it exists, is as it was or gone.
func TestReadOfWhatTellsThatItExists(t *testing.T) {
	p, err := guest.New(guest.Provider{Name: "coast", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf("coast:index:Beacon", beacons{})}})
	require.NoError(t, err)
	state := obj("hill", "h")
	read := func(id string) (abi.ReadResponse, error) {
		return p.Read(t.Context(), abi.ReadRequest{Type: "coast:index:Beacon", ID: id, State: &state, Inputs: &state})
	}
	response, err := read("hill")
	require.NoError(t, err)
	require.Equal(t, "hill", response.ID)
	requireMap(t, state, response.State)
	response, err = read("valley")
	require.NoError(t, err)
	require.Empty(t, response.ID)
	_, err = read("fog")
	require.ErrorContains(t, err, "nothing can be seen")
}

// answering reads and deletes with an error.
type answering struct{ err error }

func (answering) Create(_ context.Context, r guest.CreateRequest[beaconInputs]) (guest.CreateResponse[beaconInputs], error) {
	return guest.CreateResponse[beaconInputs]{ID: "x", State: r.Inputs}, nil
}

func (a answering) Read(context.Context, guest.ReadRequest[beaconInputs, beaconInputs]) (guest.ReadResponse[beaconInputs, beaconInputs], error) {
	return guest.ReadResponse[beaconInputs, beaconInputs]{}, a.err
}

func (a answering) Delete(context.Context, guest.DeleteRequest[beaconInputs]) error { return a.err }

// Only the SDK's own error says that an object is gone. The kind of any other says nothing: a wrong project, a file
// that is missing, or a refused credential has it as well.
func TestGone(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		gone bool
	}{
		"ErrGone":                  {guest.ErrGone, true},
		"NotFound":                 {guest.NotFound("it ran away"), true},
		"wrapped":                  {fmt.Errorf("reading: %w", guest.NotFound("it ran away")), true},
		"joined":                   {errors.Join(errors.New("a"), guest.ErrGone), true},
		"the kind not-found":       {abi.NewError(abi.ErrorKindNotFound, "there is no such project"), false},
		"the kind, wrapped":        {fmt.Errorf("reading: %w", abi.NewError(abi.ErrorKindNotFound, "x")), false},
		"the kind unimplemented":   {abi.NewError(abi.ErrorKindUnimplemented, "x"), false},
		"the kind unavailable":     {guest.Unavailable("x"), false},
		"an error without a kind":  {errors.New("404"), false},
		"an object that is not ok": {guest.InitFailed("ill"), false},
	} {
		p, err := guest.New(guest.Provider{Name: "coast", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf("coast:index:Beacon", answering{c.err})}})
		require.NoError(t, err)
		state := obj("hill", "h")
		read, err := p.Read(t.Context(), abi.ReadRequest{Type: "coast:index:Beacon", ID: "x", State: &state, Inputs: &state})
		require.Equal(t, c.gone, err == nil, name)
		require.Empty(t, read.ID, name)
		err = p.Delete(t.Context(), abi.DeleteRequest{Type: "coast:index:Beacon", ID: "x", State: state})
		require.Equal(t, c.gone, err == nil, name)
	}
	require.ErrorIs(t, guest.NotFound("x"), abi.ErrNotFound)
	require.ErrorIs(t, guest.NotFound("x"), guest.NotFound(""))
	require.NotErrorIs(t, abi.NewError(abi.ErrorKindNotFound, "x"), guest.ErrGone)
	require.EqualError(t, guest.NotFound("it ran away"), abi.NewError(abi.ErrorKindNotFound, "it ran away").Error())
}
