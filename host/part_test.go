package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/rewriting"
	"github.com/husk-dev/husk/internal/testmodule"
)

// partly makes a provider of the probe in a host that has found it installed.
func partly(t *testing.T, options host.ProviderOptions) *host.Provider {
	t.Helper()
	needsCompiler(t)
	provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	p := provide(t, newHost(t, host.NewConfig()), options)
	checkThing(t, p)
	has, outgrown := p.Module().Part()
	require.True(t, has)
	require.False(t, outgrown, "a Check takes no more than the part")
	return p
}

func checkThing(t *testing.T, p *host.Provider) {
	t.Helper()
	inputs := property.MapOf(map[string]property.Value{"text": property.String("x")})
	checked, err := p.Check(t.Context(), abi.CheckRequest{
		URN: "urn:pulumi:dev::test::probe:index:Thing::x", Name: "x", Type: "probe:index:Thing", News: inputs, RandomSeed: make([]byte, 32),
	})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	require.True(t, checked.Inputs.Equal(inputs))
}

// What a part of a module cannot do is done by the whole, once, and as if there were no part.
func TestThePartOfAModuleIsOutgrown(t *testing.T) {
	outgrown := func(t *testing.T, p *host.Provider) {
		t.Helper()
		_, outgrown := p.Module().Part()
		require.True(t, outgrown)
		checkThing(t, p)
	}
	t.Run("by what has an effect, which happens once", func(t *testing.T) {
		logged := &records{}
		p := partly(t, host.ProviderOptions{Logger: logged.logger(), Lenient: true})
		mustDo(t, p, "log", "said")
		outgrown(t, p)
		require.Len(t, logged.lines(), 5, "one for each level")
		require.Zero(t, p.Stats().Dropped)
		require.Empty(t, p.Stats().Failures)
	})
	t.Run("by another method, in an instance that is set up alike", func(t *testing.T) {
		p := partly(t, host.ProviderOptions{Lenient: true})
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
			Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
		}))
		require.Equal(t, "hello", mustDo(t, p, "greeting").answer)
		outgrown(t, p)
	})
	t.Run("by a crash, which tells where it was", func(t *testing.T) {
		p := partly(t, host.ProviderOptions{Lenient: true})
		e := failure(t, p, "crash", "on purpose")
		require.Contains(t, e.Message, "panic: on purpose\n  at main.")
		outgrown(t, p)
		require.Equal(t, map[host.Failure]uint64{host.FailureTrap: 1}, p.Stats().Failures)
		require.EqualValues(t, 1, p.Stats().Dropped)
	})
	t.Run("by a stream, which stays in its instance", func(t *testing.T) {
		p := partly(t, host.ProviderOptions{Lenient: true})
		_, err := p.StreamInvoke(t.Context(), abi.InvokeRequest{Token: "probe:index:none"})
		require.ErrorIs(t, err, abi.ErrUnimplemented)
		outgrown(t, p)
	})
	t.Run("by the end of an instance of it, after which others have no part", func(t *testing.T) {
		p := partly(t, host.ProviderOptions{Lenient: true})
		other, err := p.Module().NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Lenient: true})
		require.NoError(t, err)
		defer other.Close()
		checkThing(t, other)
		mustDo(t, p, "nothing")
		outgrown(t, other)
		require.NoError(t, other.Cancel(t.Context()))
		checkThing(t, other)
		mustDo(t, other, "nothing")
	})
}

// What is loaded ahead takes the part's place only where it is needed.
func TestTheWholeIsLoadedAheadOfTheCallThatNeedsIt(t *testing.T) {
	p := partly(t, host.ProviderOptions{Lenient: true})
	p.Module().Preload()
	checkThing(t, p)
	_, outgrown := p.Module().Part()
	require.False(t, outgrown)
	mustDo(t, p, "nothing")
	_, outgrown = p.Module().Part()
	require.True(t, outgrown)
	p.Module().Preload() // has nothing left to do
	checkThing(t, p)

	cut := newHost(t, host.NewConfig())
	provide(t, cut, host.ProviderOptions{}).Module().Preload()
	require.NoError(t, cut.Close(t.Context()), "while it is loading")
}

// Which modules are loaded in part depends on their size unless something else is asked for.
func TestModulesOfAnySizeAreLoadedInPart(t *testing.T) {
	needsCompiler(t)
	small := assembly{
		bodies: map[string]code{"get-schema": returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	}.wasm()
	large, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		extent rewriting.Extent
		wasm   []byte
		want   bool
	}{
		"a small one":         {rewriting.Large, small, false},
		"a large one":         {rewriting.Large, large, true},
		"a small one, of all": {rewriting.All, small, true},
	} {
		t.Run(name, func(t *testing.T) {
			var has bool
			for range 2 { // the second host finds it installed
				h, err := host.New(rewriting.With(t.Context(), c.extent), host.NewConfig().WithCacheDir(testmodule.CacheDir(t)))
				require.NoError(t, err)
				module, err := h.LoadBytes(t.Context(), c.wasm)
				require.NoError(t, err)
				has, _ = module.Part()
				require.NoError(t, h.Close(t.Context()))
			}
			require.Equal(t, c.want, has)
		})
	}
}

// A part that is damaged is none.
func TestADamagedPartIsNotUsed(t *testing.T) {
	needsCompiler(t)
	dir := t.TempDir()
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	_, err = h.Load(t.Context(), probe(t))
	require.NoError(t, err)
	require.NoError(t, h.Close(t.Context()))
	codes, err := filepath.Glob(filepath.Join(dir, "*.code"))
	require.NoError(t, err)
	for _, code := range codes {
		info, err := os.Stat(code)
		require.NoError(t, err)
		if info.Size() < 10<<20 { // of the whole it is 17 MB
			require.NoError(t, os.WriteFile(code, []byte("damaged"), 0o600))
		}
	}
	h, err = host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(context.Background())) }()
	p := provide(t, h, host.ProviderOptions{Lenient: true})
	checkThing(t, p)
	has, outgrown := p.Module().Part()
	require.True(t, has)
	require.True(t, outgrown)
}

// A draft has no part, and is another one than the module that is loaded in full, which goes before it.
func TestADraft(t *testing.T) {
	needsCompiler(t)
	dir, wasm := filepath.Join(t.TempDir(), "cache"), saying("ok").wasm()
	codes := func() int {
		files, err := filepath.Glob(filepath.Join(dir, "*.code"))
		require.NoError(t, err)
		return len(files)
	}
	load := func(how func(*host.Host, context.Context, []byte) (*host.Module, error)) (hasPart bool) {
		h, err := host.New(rewriting.With(t.Context(), rewriting.All), host.NewConfig().WithCacheDir(dir))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(context.Background())) }()
		module, err := how(h, t.Context(), wasm)
		require.NoError(t, err)
		p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "saying", Lenient: true})
		require.NoError(t, err)
		defer p.Close()
		answered, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "ok", answered)
		hasPart, _ = module.Part()
		return hasPart
	}
	require.False(t, load((*host.Host).LoadDraft))
	require.Equal(t, 1, codes())
	require.False(t, load((*host.Host).LoadDraft))
	require.Equal(t, 1, codes(), "a draft is compiled once")
	load((*host.Host).LoadBytes)
	require.True(t, load((*host.Host).LoadBytes), "it is installed")
	require.True(t, load((*host.Host).LoadDraft), "what was compiled in full is better")
}
