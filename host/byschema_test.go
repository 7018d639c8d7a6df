package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// crateSchema says of crates that their Check and Diff are the schema's own, of chests that
// one is, and of bins that both are, though the default of one does not fit it.
const crateSchema = `{"name": "hand", "resources": {
	"hand:index:Crate": {
		"inputProperties": {"size": {"type": "integer", "willReplaceOnChanges": true}, "label": {"type": "string", "default": "none"}},
		"requiredInputs": ["size"],
		"properties": {"size": {"type": "integer"}, "label": {"type": "string"}},
		"language": {"husk": {"schemaCheck": true, "schemaDiff": true}}},
	"hand:index:Chest": {"inputProperties": {"size": {"type": "integer"}}, "language": {"husk": {"schemaDiff": true}}},
	"hand:index:Shelf": {"inputProperties": {"size": {"type": "integer"}}, "language": {"husk": {"identity": ["size"]}}},
	"hand:index:Bin": {
		"inputProperties": {"size": {"type": "integer", "default": 7, "language": {"husk": {"maximum": 5}}}},
		"language": {"husk": {"schemaCheck": true, "schemaDiff": true}}}}}`

const crate = "hand:index:Crate"

// newCrates makes a provider that crashes in check and diff.
func newCrates(t *testing.T, options host.ProviderOptions) *host.Provider {
	t.Helper()
	m := newMemory()
	m.schema = crateSchema
	return m.assemble(t, map[string]code{"configure": m.returns(words(0))}, options)
}

func setUp(t *testing.T, p *host.Provider) *host.Provider {
	t.Helper()
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{}))
	return p
}

// What a schema says of Check and Diff is answered without the guest.
func TestChecksAndDiffsBySchema(t *testing.T) {
	p := setUp(t, newCrates(t, host.ProviderOptions{}))
	size := func(n float64) property.Map { return bag(is("size", property.Number(n))) }

	checked, err := p.Check(t.Context(), abi.CheckRequest{Type: crate, News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.CheckResponse{Inputs: size(3).With("label", property.String("none"))}, checked)
	checked, err = p.Check(t.Context(), abi.CheckRequest{URN: "urn:pulumi:dev::test::hand:index:Crate::x", News: bag(is("sise", property.Null))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "sise", Reason: `no such property; did you mean "size"?`},
		{Path: "size", Reason: "required property is missing; expected integer"},
	}, checked.Failures)

	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: crate, ID: "x", Olds: size(3), OldInputs: size(3), News: size(4)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{
		Changes: abi.DiffChangesSome, HasDetailedDiff: true,
		DetailedDiff: []abi.PropertyDiff{{Path: "size", Kind: abi.DiffKindUpdateReplace}},
		ReplaceKeys:  []string{"size"}, ChangedKeys: []string{"size"},
	}, diff)
	diff, err = p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Chest", OldInputs: size(3), News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, diff.Changes)

	methods := p.Stats().Methods
	require.Equal(t, host.MethodStats{BySchema: 2}, methods["check"])
	require.Equal(t, host.MethodStats{BySchema: 2}, methods["diff"])
	started := 1 // for the schema and the configuration
	if has, _ := p.Module().Part(); has {
		started = 2 // for the schema a part of the module does
	}
	require.EqualValues(t, started, p.Stats().Started)
}

// Whatever the schema does not say for certain the guest is asked, which crashes here.
func TestWhatIsNotAnsweredBySchema(t *testing.T) {
	good := bag(is("size", property.Number(3)))
	check := func(request abi.CheckRequest) func(context.Context, *host.Provider) error {
		return func(ctx context.Context, p *host.Provider) error {
			_, err := p.Check(ctx, request)
			return err
		}
	}
	diff := func(request abi.DiffRequest) func(context.Context, *host.Provider) error {
		return func(ctx context.Context, p *host.Provider) error {
			_, err := p.Diff(ctx, request)
			return err
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	deep := property.Number(1)
	for range property.DefaultDepth + 1 {
		deep = property.Array(deep)
	}
	for name, c := range map[string]struct {
		options host.ProviderOptions
		before  bool
		ctx     context.Context
		do      func(context.Context, *host.Provider) error
		is      error
		says    string
	}{
		"a type of which it says nothing":      {do: check(abi.CheckRequest{Type: "hand:index:Chest", News: good})},
		"a type that it does not have":         {do: diff(abi.DiffRequest{Type: "hand:index:Cask"})},
		"a default that does not fit":          {do: check(abi.CheckRequest{Type: "hand:index:Bin"})},
		"before the provider is configured":    {before: true, do: check(abi.CheckRequest{Type: crate, News: good})},
		"where the guest is to be asked":       {options: host.ProviderOptions{AskGuest: true}, do: diff(abi.DiffRequest{Type: crate})},
		"where nothing is held to the schema":  {options: host.ProviderOptions{Lenient: true}, do: check(abi.CheckRequest{Type: crate, News: good})},
		"a path that is none":                  {do: diff(abi.DiffRequest{Type: crate, IgnoreChanges: []string{"a["}})},
		"a call that was cancelled":            {ctx: ended, do: check(abi.CheckRequest{Type: crate, News: good}), is: abi.ErrCancelled},
		"inputs that no guest could be passed": {do: check(abi.CheckRequest{Type: crate, News: bag(is("size", deep))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed to the provider: provider.check.request.news: "},
		"old inputs of this kind":              {do: check(abi.CheckRequest{Type: crate, News: good, Olds: new(bag(is("size", deep)))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
		"a state of this kind":                 {do: diff(abi.DiffRequest{Type: crate, Olds: bag(is("label", property.String("\xff")))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
		"a name that is no text":               {do: diff(abi.DiffRequest{Type: crate, Name: "\xff"}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCrates(t, c.options)
			if !c.before {
				setUp(t, p)
			}
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if c.is == nil {
				c.is = abi.ErrCrashed
			}
			err := c.do(c.ctx, p)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			require.Zero(t, p.Stats().Methods["check"].BySchema+p.Stats().Methods["diff"].BySchema)
		})
	}
}

// A provider that may not be called is not answered for.
func TestProvidersThatAreGoneAreNotAnsweredFor(t *testing.T) {
	request := abi.CheckRequest{Type: crate, News: bag(is("size", property.Number(3)))}
	const crashes = 3
	m := newMemory()
	m.schema = crateSchema
	h := newHost(t, host.NewConfig().WithClock(newHandClock()).WithQuarantine(crashes, time.Minute))
	module, err := h.LoadBytes(t.Context(), assembly{data: m.data, bodies: map[string]code{
		"configure": m.returns(words(0)), "get-schema": m.returns(words(0) + m.text(m.schema)),
	}}.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	setUp(t, p)
	_, err = p.Check(t.Context(), request)
	require.NoError(t, err)
	for range crashes {
		_, err := p.Check(t.Context(), abi.CheckRequest{Type: "hand:index:Chest"})
		require.ErrorIs(t, err, abi.ErrCrashed)
	}
	_, err = p.Check(t.Context(), request)
	var quarantine *host.QuarantineError
	require.ErrorAs(t, err, &quarantine)
	p.Readmit()
	_, err = p.Check(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	_, err = p.Check(t.Context(), request)
	require.ErrorContains(t, err, "the provider is closed")
}

// A type whose schema says what its objects are known by is deleted before it is made again,
// whatever its provider answers to Diff.
func TestIdentityDeletesFirst(t *testing.T) {
	m := newMemory()
	m.schema = crateSchema
	nothing := words(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	p := setUp(t, m.assemble(t, map[string]code{"configure": m.returns(words(0)), "diff": m.returns(words(0) + nothing)}, host.ProviderOptions{}))
	size := func(n float64) property.Map { return bag(is("size", property.Number(n))) }
	for _, test := range []struct {
		typ      string
		new      float64
		expected bool
	}{{"hand:index:Shelf", 3, true}, {"hand:index:Shelf", 4, false}, {"hand:index:Chest", 3, false}} {
		diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: test.typ, ID: "x", Olds: size(3), OldInputs: size(3), News: size(test.new)})
		require.NoError(t, err)
		require.Equal(t, test.expected, diff.DeleteBeforeReplace, "%v", test)
	}
	p = setUp(t, m.assemble(t, map[string]code{
		"configure": m.returns(words(0)), "diff": m.returns(words(1, uint32(abi.ErrorKindUnimplemented)) + m.text("no diff") + words(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
	}, host.ProviderOptions{}))
	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Shelf", ID: "x", OldInputs: size(3), News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{Changes: abi.DiffChangesUnknown, DeleteBeforeReplace: true}, diff)
	_, err = p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Shelf", ID: "x", OldInputs: size(3), News: size(4)})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}
