package host_test

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// shed is a module that says of itself that its setup may be deferred.
type shed struct {
	dir     string
	memory  *memory
	imports []importEntry
	bodies  map[string]code
}

// newShed makes one whose schema says so, with these bodies beside its handshake.
func newShed(t *testing.T, bodies map[string]code) *shed {
	t.Helper()
	m := newMemory()
	m.schema = strings.Replace(crateSchema, `"resources"`, `"config": {"variables": {"depth": {"type": "integer", "default": 1}, "key": {"type": "string"}}, "defaults": ["key"]},
		"provider": {"inputProperties": {"depth": {"type": "integer", "default": 1}, "key": {"type": "string"}}, "requiredInputs": ["key"],
			"language": {"husk": {"schemaCheck": true, "schemaDiff": true, "deferred": true}}}, "resources"`, 1)
	s := &shed{dir: filepath.Join(t.TempDir(), "cache"), memory: m, bodies: map[string]code{
		"handshake":  m.returns(words(0) + m.text("hand") + m.text("1.0.0") + m.text("") + words(0, 0, 0)),
		"get-schema": m.returns(words(0) + m.text(m.schema)),
		"configure":  m.returns(words(0)),
		"create":     m.returns(words(0) + m.text("id") + m.bag(t, bag()) + words(0)),
	}}
	maps.Copy(s.bodies, bodies)
	return s
}

// open makes a provider of the module in a host of its own, as another process does.
func (s *shed) open(t *testing.T, options host.ProviderOptions) *host.Provider {
	t.Helper()
	return s.provide(t, s.load(t), options)
}

// load loads the module in a host of its own.
func (s *shed) load(t *testing.T) *host.Module {
	t.Helper()
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(s.dir))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	module, err := h.LoadBytes(t.Context(), assembly{imports: s.imports, bodies: s.bodies, data: s.memory.data}.wasm())
	require.NoError(t, err)
	return module
}

func (s *shed) provide(t *testing.T, module *host.Module, options host.ProviderOptions) *host.Provider {
	t.Helper()
	options.Name = "hand"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

var (
	handshake     = abi.HandshakeRequest{Engine: "test"}
	configuration = abi.ConfigureRequest{Inputs: bag(is("key", property.String("k")))}
)

// learn has the module run once, so that the cache knows what it says of itself.
func (s *shed) learn(t *testing.T) {
	t.Helper()
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	_, err = p.CheckConfig(t.Context(), abi.CheckRequest{News: configuration.Inputs})
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Stats().Started)
}

// A provider is not run before something needs it that its schema does not answer.
func TestAProviderIsRunWhenItIsNeeded(t *testing.T) {
	s := newShed(t, nil)
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	ctx := t.Context()

	who, err := p.Handshake(ctx, handshake)
	require.NoError(t, err)
	require.Equal(t, abi.HandshakeResponse{Name: "hand", Version: "1.0.0"}, who)
	described, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.Equal(t, s.memory.schema, described.Schema)
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{News: bag(is("depth", property.String("2")))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "key", Reason: "required property is missing; expected string"}}, checked.Failures)
	compared, err := p.DiffConfig(ctx, abi.DiffRequest{OldInputs: configuration.Inputs, News: configuration.Inputs})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, compared.Changes)
	require.NoError(t, p.Configure(ctx, configuration))
	size := bag(is("size", property.Number(3)))
	_, err = p.Check(ctx, abi.CheckRequest{Type: crate, News: size})
	require.NoError(t, err)
	_, err = p.Diff(ctx, abi.DiffRequest{Type: crate, OldInputs: size, News: size})
	require.NoError(t, err)
	require.Zero(t, p.Stats().Started)

	for range 2 {
		_, err = p.Create(ctx, abi.CreateRequest{Type: crate})
		require.NoError(t, err)
	}
	stats := p.Stats()
	require.EqualValues(t, 1, stats.Started)
	for method, calls := range map[string]int{"handshake": 1, "configure": 1, "create": 2, "get-schema": 0, "check": 0} {
		require.EqualValues(t, calls, stats.Methods[method].Calls, method)
	}
	require.NoError(t, p.Configure(ctx, configuration), "it runs now, and is asked")
	require.EqualValues(t, 2, p.Stats().Methods["configure"].Calls)
}

// A provider that does nothing with its configuration is not asked to take it, whether it
// runs or not.
func TestAConfigurationThatDoesNothing(t *testing.T) {
	s := newShed(t, map[string]code{"configure": unreachable})
	s.memory.schema = strings.Replace(s.memory.schema, `"deferred": true`, `"deferred": true, "schemaConfigure": true`, 1)
	s.bodies["get-schema"] = s.memory.returns(words(0) + s.memory.text(s.memory.schema))
	s.learn(t)
	for name, c := range map[string]struct {
		options host.ProviderOptions
		inputs  property.Map
		ok      bool
	}{
		"a complete configuration":            {inputs: configuration.Inputs, ok: true},
		"one that is not known":               {inputs: bag(is("key", property.Unknown)), ok: true},
		"an incomplete configuration":         {},
		"one that cannot be passed":           {inputs: bag(is("key", property.String("\xff")))},
		"where the guest is to be asked":      {options: host.ProviderOptions{AskGuest: true}, inputs: configuration.Inputs},
		"where nothing is held to the schema": {options: host.ProviderOptions{Lenient: true}, inputs: configuration.Inputs},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.open(t, c.options)
			_, err := p.Handshake(t.Context(), handshake)
			require.NoError(t, err)
			for range 2 {
				err := p.Configure(t.Context(), abi.ConfigureRequest{Inputs: c.inputs})
				if !c.ok {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
				require.NoError(t, err)
			}
			require.Equal(t, host.MethodStats{BySchema: 2}, p.Stats().Methods["configure"])
		})
	}
}

// What must be asked at once is.
func TestSetupsThatAreNotDeferred(t *testing.T) {
	s := newShed(t, map[string]code{"configure": unreachable})
	s.learn(t)
	for name, c := range map[string]struct {
		options  host.ProviderOptions
		engine   string
		inputs   property.Map
		deferred bool
	}{
		"a complete configuration":            {engine: "test", inputs: configuration.Inputs, deferred: true},
		"an incomplete configuration":         {engine: "test"},
		"one that is not known":               {engine: "test", inputs: bag(is("key", property.Unknown))},
		"one that cannot be passed":           {engine: "test", inputs: bag(is("key", property.String("\xff")))},
		"another handshake":                   {engine: "other", inputs: configuration.Inputs},
		"where the guest is to be asked":      {options: host.ProviderOptions{AskGuest: true}, engine: "test", inputs: configuration.Inputs},
		"where nothing is held to the schema": {options: host.ProviderOptions{Lenient: true}, engine: "test", inputs: configuration.Inputs},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.open(t, c.options)
			_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: c.engine})
			require.NoError(t, err)
			err = p.Configure(t.Context(), abi.ConfigureRequest{Inputs: c.inputs})
			if c.deferred {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
		})
	}
}

// The error of a configuration that was deferred says so, and what needed it. It is told
// each time, as the provider is not configured.
func TestADeferredConfigurationThatFails(t *testing.T) {
	s := newShed(t, nil)
	s.bodies["configure"] = s.memory.returns(words(1, uint32(abi.ErrorKindInvalidArgument)) + s.memory.text("the key is too short") +
		s.memory.text("key") + words(0) + strings.Repeat(words(0), 10) + words(0, 0))
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), configuration))
	for range 2 {
		_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.EqualError(t, err, "hand 1.0.0: configure: key: this was not asked before create needed it: the key is too short")
	}
}

// A handshake that is answered in another way than before ends what needed it.
func TestADeferredHandshakeThatIsAnsweredInAnotherWay(t *testing.T) {
	s := newShed(t, nil)
	answers := func(version string) int32 {
		return int32(s.memory.put(words(0) + s.memory.text("hand") + s.memory.text(version) + s.memory.text("") + words(0, 0, 0)))
	}
	s.bodies["handshake"] = count + choose(1, answers("1.0.0"), answers("2.0.0"))
	s.bodies["get-schema"] = count + drop + s.bodies["get-schema"]

	p := s.open(t, host.ProviderOptions{})
	_, err := p.CheckConfig(t.Context(), abi.CheckRequest{}) // asks for the schema first
	require.NoError(t, err)
	for range 2 {
		who, err := p.Handshake(t.Context(), handshake)
		require.NoError(t, err)
		require.Equal(t, "2.0.0", who.Version)
		p = s.open(t, host.ProviderOptions{})
	}
	_, err = p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
	require.ErrorIs(t, err, abi.ErrInternal)
	require.ErrorContains(t, err, "it answers the handshake in another way than before")
}

// Calls at once may each start an instance, of which each is set up before it is called.
func TestDeferredSetupsOfCallsAtOnce(t *testing.T) {
	s := newShed(t, nil)
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), configuration))
	const calls = 8
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if _, err := p.Create(context.Background(), abi.CreateRequest{Type: crate}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stats := p.Stats()
	require.EqualValues(t, calls, stats.Methods["create"].Calls)
	require.Positive(t, stats.Methods["configure"].Calls)
	require.LessOrEqual(t, stats.Methods["configure"].Calls, stats.Started)
}
