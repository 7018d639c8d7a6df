package guest_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/internal/testprovider"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// module builds a provider as an author does, and loads it.
func module(t *testing.T, h *host.Host, dir, name string) *host.Provider {
	t.Helper()
	m, err := h.LoadBytes(t.Context(), testmodule.Build(t, dir))
	require.NoError(t, err)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func TestModule(t *testing.T) {
	testmodule.Skip(t)
	h := testmodule.Host(t, host.NewConfig())
	t.Run("answers as in a program", func(t *testing.T) { testSameAnswers(t, module(t, h, "../internal/testprovider/module", "zoo")) })
	t.Run("says at the first call what is wrong with it", func(t *testing.T) {
		_, err := module(t, h, "./testdata/broken", "broken").Handshake(t.Context(), abi.HandshakeRequest{})
		require.ErrorContains(t, err, "provider broken: resource broken:index:Thing: Inputs.Name: it has no husk tag")
	})
}

// testSameAnswers puts the same questions to the zoo as a module and to the zoo in this
// program.
func testSameAnswers(t *testing.T, wasm abi.Provider) {
	native, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	state := obj("name", "Rex", "legs", 4, "handle", "h", "weight", secret(1), "sound", "grr", "number", 1, "chip", "c")
	inputs := obj("name", "Rex", "legs", 4, "handle", "h", "tags", obj("a", secret("b")))
	gone := state.With("name", val("gone"))
	seed := make([]byte, 32)
	rex := property.Reference(property.ResourceReference{
		URN: "urn:pulumi:dev::proj::zoo:index/animal:Animal::rex", HasID: true, ID: "animal-Rex", PackageVersion: "1.2.3"})

	type question func(context.Context, abi.Provider) (any, error)
	check := func(typ string, news property.Map) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Check(ctx, abi.CheckRequest{Type: typ, News: news, RandomSeed: seed})
		}
	}
	create := func(in property.Map, preview bool, timeout float64) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Create(ctx, abi.CreateRequest{Type: animal, Name: "n", Inputs: in, Preview: preview, Timeout: timeout})
		}
	}
	open := func(token string, args property.Map) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.OpenEphemeral(ctx, abi.OpenEphemeralRequest{Token: token, Args: args})
		}
	}
	renew := func(private string) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.RenewEphemeral(ctx, abi.RenewEphemeralRequest{Token: "zoo:index/pass:pass", Private: []byte(private)})
		}
	}
	closeIt := func(private string) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return nil, p.CloseEphemeral(ctx, abi.CloseEphemeralRequest{Token: "zoo:index/pass:pass", Private: []byte(private)})
		}
	}
	act := func(food any, preview bool) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.RunAction(ctx, abi.RunActionRequest{Token: "zoo:index/feed:feed", Args: obj("food", food), Preview: preview})
		}
	}
	exists := func(typ, id string) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Exists(ctx, abi.ExistsRequest{Type: typ, ID: id})
		}
	}
	stream := func(args property.Map) question {
		return func(ctx context.Context, p abi.Provider) (any, error) {
			handle, err := p.StreamInvoke(ctx, abi.InvokeRequest{Token: "zoo:index/parade:parade", Args: args})
			var all []property.Map
			for err == nil {
				var item abi.StreamItem
				if item, err = p.StreamNext(ctx, handle); item.Result == nil {
					break
				}
				all = append(all, *item.Result)
			}
			return all, err
		}
	}
	named := func(name string) property.Map { return obj("name", name, "legs", 2, "handle", "h") }
	for _, test := range []struct {
		name string
		ask  question
	}{
		{"handshake", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Handshake(ctx, abi.HandshakeRequest{Features: abi.FeaturesSecrets | abi.FeaturesPreview})
		}},
		{"schema", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.GetSchema(ctx, abi.GetSchemaRequest{})
		}},
		{"check-config", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.CheckConfig(ctx, abi.CheckRequest{News: obj("token", "t", "depth", "x"), RandomSeed: seed})
		}},
		{"configure without a key", func(ctx context.Context, p abi.Provider) (any, error) {
			return nil, p.Configure(ctx, abi.ConfigureRequest{})
		}},
		{"configure", func(ctx context.Context, p abi.Provider) (any, error) {
			return nil, p.Configure(ctx, abi.ConfigureRequest{Inputs: obj("token", secret("t"), "region", "south")})
		}},
		{"check", check(animal, obj("name", "Rex", "home", obj("street", " s ", "key", "k"), "notes", []any{nil, property.Unknown}))},
		{"check fails", check(animal, obj("nam", "Rex", "scores", obj("a", []any{"x"})))},
		{"check fails in the author's code", check(animal, obj("name", "Rex", "legs", 5))},
		{"check of references", check(plaque, obj("text", "Rex", "of", rex, "place", rex, "trees", []any{"tree-1"}))},
		{"check of references of another type", check(plaque, obj("text", "Rex", "trees", []any{rex}))},
		{"create with references", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Create(ctx, abi.CreateRequest{Type: plaque, Name: "n", Inputs: obj("text", "Rex", "font", "serif", "of", rex, "place", "animal-Rex", "trees", []any{"tree-1"})})
		}},
		{"check of an unknown type", check("zoo:index:Beast", obj())},
		{"diff", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Diff(ctx, abi.DiffRequest{Type: animal, ID: "x", Olds: state, OldInputs: inputs, News: inputs.With("legs", val(2)).With("weight", property.Unknown)})
		}},
		{"create", create(inputs.With("notes", val(obj("n", []any{nil, 1.5}))).With("scores", val(obj("s", []any{1, 2}))), false, 0)},
		{"preview", create(inputs.With("weight", property.Unknown), true, 0)},
		{"preview, all known", create(inputs, true, 0)},
		{"create unhealthy", create(named("unhealthy"), false, 0)},
		{"create exhausted", create(named("exhausted"), false, 0)},
		{"create broken", create(named("broken"), false, 0)},
		{"create without an ID", create(named("anonymous"), false, 0)},
		{"create that times out", create(named("wait"), false, 0.05)},
		{"read", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Read(ctx, abi.ReadRequest{Type: animal, ID: "x", State: &state, Inputs: &inputs})
		}},
		{"read what is gone", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Read(ctx, abi.ReadRequest{Type: animal, ID: "x", State: &gone, Inputs: &inputs})
		}},
		{"import", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Read(ctx, abi.ReadRequest{Type: animal, ID: "animal-Max"})
		}},
		{"update", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Update(ctx, abi.UpdateRequest{Type: animal, ID: "x", Olds: state, OldInputs: inputs, News: inputs.With("weight", secret(3))})
		}},
		{"update unhealthy", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Update(ctx, abi.UpdateRequest{Type: animal, ID: "x", Olds: state, OldInputs: inputs, News: inputs.With("weight", val(2000))})
		}},
		{"delete fails", func(ctx context.Context, p abi.Provider) (any, error) {
			return nil, p.Delete(ctx, abi.DeleteRequest{Type: animal, ID: "x", State: state.With("name", val("broken"))})
		}},
		{"list, page by page", func(ctx context.Context, p abi.Provider) (any, error) {
			return listed(ctx, p, abi.ListRequest{Token: plaque})
		}},
		{"list some, one by one", func(ctx context.Context, p abi.Provider) (any, error) {
			return listed(ctx, p, abi.ListRequest{Token: plaque, Limit: 3, PageSize: 1})
		}},
		{"list what is asked for", func(ctx context.Context, p abi.Provider) (any, error) {
			return listed(ctx, p, abi.ListRequest{Token: plaque, Query: obj("text", "Rex")})
		}},
		{"list what cannot be listed", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.List(ctx, abi.ListRequest{Token: animal})
		}},
		{"mappings", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.GetMappings(ctx, abi.GetMappingsRequest{Key: "terraform"})
		}},
		{"mapping", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform", Provider: "aquarium"})
		}},
		{"mapping that is not there", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform", Provider: "circus"})
		}},
		{"invoke", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Invoke(ctx, abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: obj("name", secret("Ann"))})
		}},
		{"invoke fails", func(ctx context.Context, p abi.Provider) (any, error) {
			return p.Invoke(ctx, abi.InvokeRequest{Token: "zoo:index/greet:greet", Args: obj("name", "nobody")})
		}},
		{"open", open("zoo:index/pass:pass", obj("visitor", "Ann"))},
		{"open with a default and a secret", open("zoo:index/pass:pass", obj("visitor", secret("Ann"), "hours", 2))},
		{"open fails", open("zoo:index/pass:pass", obj("visitor", "nobody"))},
		{"open refuses", open("zoo:index/pass:pass", obj("visitor", 1))},
		{"open what is not ephemeral", open("zoo:index/greet:greet", obj("name", "Ann"))},
		{"renew", renew("Ann")},
		{"renew fails", renew("lost")},
		{"close", closeIt("Ann")},
		{"close fails", closeIt("lost")},
		{"action", act("hay", false)},
		{"action in a preview", act("poison", true)},
		{"action fails", act("poison", false)},
		{"action refuses", act(true, false)},
		{"exists", exists(animal, "animal-Rex")},
		{"exists no more", exists(animal, "animal-gone")},
		{"exists fails", exists(animal, "animal-hidden")},
		{"exists is not implemented", exists("zoo:index/plaque:Plaque", "x")},
		{"stream", stream(obj("length", 3))},
		{"stream with a secret", stream(obj("length", 2, "banner", "b"))},
		{"stream that fails", stream(obj("length", 3, "lost", 1))},
		{"stream of nothing", stream(obj("length", 0))},
		{"stream refuses", stream(obj("length", "x"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, wantErr := test.ask(t.Context(), native)
			got, err := test.ask(t.Context(), wasm)
			requireSame(t, plain(wantErr), plain(err))
			if wantErr == nil {
				requireSame(t, counted(want), counted(got))
			}
		})
	}

	t.Run("a stream that is closed early", func(t *testing.T) {
		handle, err := wasm.StreamInvoke(t.Context(), abi.InvokeRequest{Token: "zoo:index/parade:parade", Args: obj("length", 1_000_000_000)})
		require.NoError(t, err)
		for i := range 3 {
			item, err := wasm.StreamNext(t.Context(), handle)
			require.NoError(t, err)
			require.Equal(t, val(i), item.Result.Get("number"))
		}
		require.NoError(t, wasm.StreamClose(t.Context(), handle))
		_, err = wasm.StreamNext(t.Context(), handle)
		require.ErrorIs(t, err, abi.ErrNotFound)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := create(named("wait"), false, 0)(ctx, wasm)
		require.ErrorIs(t, err, abi.ErrInitFailed, "what was made before the cancellation is not lost")
		require.Equal(t, "animal-wait", abi.AsError(err).InitFailure.ID)
	})
	t.Run("a panic ends one call", func(t *testing.T) {
		_, err := create(named("panic"), false, 0)(t.Context(), wasm)
		require.ErrorContains(t, err, "it bites")
		_, err = create(named("Rex"), false, 0)(t.Context(), wasm)
		require.NoError(t, err)
	})
}

// listed returns the resources of each page.
func listed(ctx context.Context, p abi.Provider, request abi.ListRequest) (pages [][]abi.ListedResource, err error) {
	for {
		page, err := p.List(ctx, request)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page.Resources)
		if request.ContinuationToken = page.ContinuationToken; request.ContinuationToken == "" {
			return pages, nil
		}
	}
}

// requireSame requires two answers to be the same, where an empty list is as good as
// none.
func requireSame(t *testing.T, want, got any) {
	t.Helper()
	if !same(reflect.ValueOf(want), reflect.ValueOf(got)) {
		require.Equal(t, want, got)
		t.Fatalf("not the same: %+v and %+v", want, got)
	}
}

func same(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if m, ok := a.Interface().(property.Map); ok {
		other := b.Interface().(property.Map)
		return slices.Equal(m.Keys(), other.Keys()) && m.Equal(other)
	}
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || same(a.Elem(), b.Elem()))
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// plain returns an error without what the host adds to it, and without the numbers that an
// instance counts.
func plain(err error) *abi.Error {
	if err == nil {
		return nil
	}
	e := *abi.AsError(err)
	e.Provider, e.Version, e.Method = "", "", ""
	if e.InitFailure != nil {
		failure := *e.InitFailure
		failure.State = failure.State.Without("number")
		e.InitFailure = &failure
	}
	return &e
}

// counted returns an answer without the number that an instance counts.
func counted(answer any) any {
	if created, ok := answer.(abi.CreateResponse); ok {
		created.State = created.State.Without("number")
		return created
	}
	return answer
}
