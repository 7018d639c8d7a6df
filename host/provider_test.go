package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestAResourceIsCheckedAndCreated(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	inputs := property.MapOf(map[string]property.Value{"text": property.Secret(property.String("world"))})
	thing := urn.URN("urn:pulumi:dev::test::probe:index:Thing::x")
	checked, err := p.Check(t.Context(), abi.CheckRequest{
		URN: thing, Name: "x", Type: "probe:index:Thing", News: inputs, RandomSeed: make([]byte, 32),
	})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	created, err := p.Create(t.Context(), abi.CreateRequest{URN: thing, Name: "x", Type: "probe:index:Thing", Inputs: checked.Inputs})
	require.NoError(t, err)
	require.Equal(t, "x", created.ID)
	greeted, ok := created.State.Get("greeted").Plain().AsString()
	require.True(t, ok)
	require.Equal(t, "hello world", greeted)

	_, err = p.Create(t.Context(), abi.CreateRequest{URN: thing, Name: "x", Type: "probe:index:None", Inputs: checked.Inputs})
	require.ErrorContains(t, err, "probe 1.2.3: create: ")
	_, err = p.Parameterize(t.Context(), abi.ParameterizeRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}

func TestTheSetupIsRepeatedInEachInstance(t *testing.T) {
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger()})
	configure := func(greeting string) error {
		return p.Configure(t.Context(), abi.ConfigureRequest{
			Inputs: property.MapOf(map[string]property.Value{"greeting": property.String(greeting)}),
		})
	}
	require.NoError(t, configure("hello"))
	first := mustDo(t, p, "greeting")
	require.Equal(t, "hello", first.answer)

	// A crash, and the next call is in a fresh instance, configured alike.
	failure(t, p, "exit", "1")
	second := mustDo(t, p, "greeting")
	require.Equal(t, "hello", second.answer)
	require.NotEqual(t, first.instance, second.instance)

	// A configuration that is refused changes nothing.
	require.ErrorContains(t, configure("refuse"), "that is no greeting")
	require.Equal(t, "hello", mustDo(t, p, "greeting").answer)

	// Another configuration is for all instances.
	require.NoError(t, configure("welcome"))
	require.Equal(t, "welcome", mustDo(t, p, "greeting").answer)

	var configured []string
	for _, line := range logged.lines() {
		if strings.Contains(line, "msg=configured") {
			configured = append(configured, strings.Fields(line)[0])
		}
	}
	require.Contains(t, configured, "level=DEBUG", "what a repeated setup prints is for debugging only")
	require.Equal(t, "level=INFO", configured[0])
}

func TestCallsRunSideBySideInBoundedInstances(t *testing.T) {
	const instances, calls = 3, 24
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Instances: instances})
	seen := map[string]float64{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			d, err := do(context.Background(), p, "sleep", "2ms")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[d.instance] = max(seen[d.instance], d.served)
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(seen), instances)
	total := 0.0
	for _, served := range seen {
		total += served
	}
	require.EqualValues(t, calls, total)
}

func TestACrashFailsOneCall(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig().WithLimit(limit.Memory, 64<<20)), host.ProviderOptions{})
	for what, c := range map[string]struct {
		args []string
		want []string
	}{
		"crash":    {[]string{"it broke"}, []string{"panic: it broke", "\n  at main.init.func5.1 (main.go:"}},
		"exit":     {[]string{"3"}, []string{"exited with code 3", "\n  at main.do"}},
		"recurse":  {nil, []string{"out of memory", "\n  at main.recurse (main.go:"}},
		"hoard":    {nil, []string{"out of memory", "it needs more memory than its limit of 64 MiB"}},
		"deadlock": {nil, []string{"deadlock"}},
	} {
		t.Run(what, func(t *testing.T) {
			before := mustDo(t, p, "nothing")
			e := failure(t, p, what, c.args...)
			require.Equal(t, abi.ErrorKindCrashed, e.Kind)
			require.Equal(t, abi.ErrorOriginHost, e.Origin)
			for _, want := range c.want {
				require.Contains(t, e.Message, want)
			}
			require.Less(t, strings.Count(e.Message, "\n"), 20)
			require.NotEqual(t, before.instance, mustDo(t, p, "nothing").instance)
		})
	}
}

func TestAnErrorOrARecoveredPanicKeepsTheInstance(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	before := mustDo(t, p, "nothing")
	e := failure(t, p, "fail", "the \x1b[31mservice\r\nsaid no")
	require.Equal(t, abi.ErrorOriginGuest, e.Origin)
	require.Contains(t, e.Message, "the \\x1b[31mservice\nsaid no")
	e = failure(t, p, "panic", "as you please")
	require.Regexp(t, `^panic: as you please\n  at main\.[^\n]+ \(main\.go:\d+\)\n`, e.Message)
	require.NotRegexp(t, `runtime\.|guest-sdk|husk/abi|at panic`, e.Message)
	require.Equal(t, before.instance, mustDo(t, p, "nothing").instance)
}

func TestAnExitCannotPassForATimeout(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	for _, code := range []string{"0xefffffff", "0xffffffff", "0"} {
		e := failure(t, p, "exit", code)
		require.Equal(t, abi.ErrorKindCrashed, e.Kind)
		require.Contains(t, e.Message, "exited with code")
	}
}

// whenTold is a log that calls a function when a guest prints a line.
type whenTold struct {
	line string
	call func()
}

func (w whenTold) Enabled(context.Context, slog.Level) bool { return true }
func (w whenTold) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w whenTold) WithGroup(string) slog.Handler            { return w }
func (w whenTold) Handle(_ context.Context, r slog.Record) error {
	if r.Message == w.line {
		w.call()
	}
	return nil
}

func TestACancelledCall(t *testing.T) {
	t.Parallel()
	t.Run("is not begun", func(t *testing.T) {
		p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := do(ctx, p, "nothing")
		require.ErrorIs(t, err, abi.ErrCancelled)
		require.EqualValues(t, 1, mustDo(t, p, "nothing").served)
	})
	t.Run("can answer what became of it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		heard := slog.New(whenTold{"waiting", cancel})
		p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Hour)), host.ProviderOptions{Logger: heard})
		d, err := do(ctx, p, "wait")
		require.NoError(t, err)
		require.Equal(t, "waited until the call was cancelled", d.answer)
		require.NotEqual(t, d.instance, mustDo(t, p, "nothing").instance)
	})
	t.Run("is cancelled, whatever the guest says of it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Hour)), host.ProviderOptions{Logger: slog.New(whenTold{"waiting", cancel})})
		_, err := do(ctx, p, "wait", "it did not work")
		require.ErrorIs(t, err, abi.ErrCancelled)
		require.EqualError(t, err, "probe 1.2.3: invoke: it did not work")

		p = provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Hour).WithLimit(limit.Time, uint64(time.Second), "invoke")), host.ProviderOptions{})
		_, err = do(t.Context(), p, "wait", "it did not work")
		require.ErrorIs(t, err, abi.ErrCancelled)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, err, &exceeded)
		require.Equal(t, limit.Time, exceeded.Limit)
	})
	t.Run("is ended where it sleeps", func(t *testing.T) {
		p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Millisecond)), host.ProviderOptions{})
		mustDo(t, p, "nothing") // so that there is an instance
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("the test has enough"))
		defer cancel()
		_, err := do(ctx, p, "sleep", "1000h")
		require.ErrorIs(t, err, abi.ErrCancelled)
		require.EqualError(t, err, "probe 1.2.3: invoke (host): the call was stopped: the test has enough")
		mustDo(t, p, "nothing")
	})
	t.Run("is ended where it logs without end", func(t *testing.T) {
		p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Millisecond)), host.ProviderOptions{})
		mustDo(t, p, "nothing") // so that there is an instance
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := do(ctx, p, "flood", "heedless")
		require.ErrorIs(t, err, abi.ErrCancelled)
	})
	t.Run("waits for an instance no longer", func(t *testing.T) {
		began := make(chan struct{})
		heard := slog.New(whenTold{"waiting", func() { close(began) }})
		p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Hour)), host.ProviderOptions{Instances: 1, Logger: heard})
		busy, release := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := do(busy, p, "wait")
			ended <- err
		}()
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := do(ctx, p, "nothing")
		require.ErrorIs(t, err, abi.ErrCancelled)
		release()
		require.NoError(t, <-ended)
	})
}

func TestCancelReachesCallsThatRun(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig().WithCancelGrace(time.Hour)), host.ProviderOptions{})
	ended := make(chan done)
	go func() {
		d, _ := do(t.Context(), p, "wait")
		ended <- d
	}()
	for {
		require.NoError(t, p.Cancel(t.Context()))
		select {
		case d := <-ended:
			require.Equal(t, "waited until the call was cancelled", d.answer)
			mustDo(t, p, "nothing") // the provider can be used again
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAClosedProviderRefusesCalls(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	ended := make(chan error)
	go func() {
		_, err := do(t.Context(), p, "sleep", "1000h")
		ended <- err
	}()
	mustDo(t, p, "nothing")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	require.Error(t, <-ended)
	_, err := do(t.Context(), p, "nothing")
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.EqualError(t, err, "probe 1.2.3: invoke (host): the provider is closed")
	_, err = p.StreamInvoke(t.Context(), abi.InvokeRequest{})
	require.ErrorContains(t, err, "closed")
	require.ErrorContains(t, p.Configure(t.Context(), abi.ConfigureRequest{}), "closed")
	require.NoError(t, p.Cancel(t.Context()))
}

func TestClockAndRandomCanBeReplaced(t *testing.T) {
	h := newHost(t, host.NewConfig().WithClock(stoppedClock{host.SystemClock()}).WithRandom(endless(7)))
	p := provide(t, h, host.ProviderOptions{})
	require.Equal(t, "2020-02-02T02:02:02Z", mustDo(t, p, "now").answer)
	require.Equal(t, "0707070707070707", mustDo(t, p, "random").answer)

	p = provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	require.NotEqual(t, mustDo(t, p, "random").answer, mustDo(t, p, "random").answer)
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte{byte(e)}, len(p))), nil
}

func TestAModuleIsCompiledOnceForAll(t *testing.T) {
	h := newHost(t, host.NewConfig())
	var all sync.WaitGroup
	modules := make([]*host.Module, 4)
	for n := range modules {
		all.Go(func() {
			module, err := h.Load(context.Background(), probe(t))
			if err != nil {
				t.Error(err)
			}
			modules[n] = module
		})
	}
	all.Wait()
	for _, module := range modules {
		require.Same(t, modules[0], module)
	}
	require.Len(t, modules[0].Digest, len("sha256:")+64)
	require.Contains(t, modules[0].Exports, "husk:provider/provider@0.2.0#check")
	require.Contains(t, modules[0].Imports, host.Import{Module: "husk:provider/log@0.2.0", Name: "write"})
	require.Nil(t, modules[0].Manifest)
	entries, err := filepath.Glob(filepath.Join(testmodule.CacheDir(t), "*.code"))
	require.NoError(t, err)
	require.NotEmpty(t, entries)
}

// judge makes a policy pack of hand-written methods; what is not given traps. Real packs
// are tested in examples/policies.
func (m *memory) judge(t *testing.T, bodies map[string]code, options host.PolicyOptions) *host.Policy {
	t.Helper()
	module, err := newHost(t, host.NewConfig().WithCancelGrace(20*time.Millisecond)).LoadBytes(t.Context(), assembly{world: canon.WorldPolicy, bodies: bodies, data: m.data}.wasm())
	require.NoError(t, err)
	require.Equal(t, canon.WorldPolicy, module.World)
	options.Name = "hand"
	p, err := module.NewPolicy(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestAPolicyPackAnswers(t *testing.T) {
	m := newMemory()
	rule := m.text("tags\x1b") + m.text("Have tags.") + "\x02\x03\x00\x00" + m.text("{}")
	violation := m.text("tags") + m.text("add\x1b one") + m.text("tags.owner") + m.text("urn:x")
	p := m.judge(t, map[string]code{
		"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("sdk") + words(m.put(rule), 1)),
		"configure": m.returns(words(0)),
		"analyze":   m.returns(words(0, m.put(violation), 1)),
		"remediate": m.returns(words(0, m.put(m.text("tags")+words(0, 0, 0)+m.text("cannot")), 1)),
	}, host.PolicyOptions{})
	who, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	require.Equal(t, abi.PolicyHandshakeResponse{Name: "house", Version: "1.0.0", SDK: "sdk", Rules: []abi.PolicyRule{{
		Name: `tags\x1b`, Description: "Have tags.", Level: abi.PolicyLevelRemediate,
		Actions: abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze, ConfigSchema: "{}",
	}}}, who, "what people read cannot write on their terminals")
	require.NoError(t, p.Configure(t.Context(), abi.PolicyConfigureRequest{}))

	judged, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyViolation{{Rule: "tags", Message: `add\x1b one`, Path: "tags.owner", URN: "urn:x"}}, judged.Violations)
	corrected, err := p.Remediate(t.Context(), abi.PolicyRemediateRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyRemediation{{Rule: "tags", Message: "cannot"}}, corrected.Remediations)

	// A trap is an error of the call that met it.
	_, err = p.AnalyzeStack(t.Context(), abi.PolicyAnalyzeStackRequest{})
	require.ErrorContains(t, err, "house 1.0.0: analyze-stack (host): the policy pack crashed: ")
	require.ErrorIs(t, err, abi.ErrCrashed)
	judged, err = p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.NoError(t, err)
	require.Len(t, judged.Violations, 1)
}

// A pack that does not end is stopped as a provider is.
func TestAPolicyPackIsStopped(t *testing.T) {
	p := newMemory().judge(t, map[string]code{"analyze": forever + unreachable}, host.PolicyOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Analyze(ctx, abi.PolicyAnalyzeRequest{})
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.NoError(t, p.Cancel(t.Context()), "nothing is held")
	require.NoError(t, p.Close())
	_, err = p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.EqualError(t, err, "hand: analyze (host): the policy pack is closed")
}

func TestAnAnswerThatIsNoLevel(t *testing.T) {
	m := newMemory()
	rule := m.text("tags") + m.text("") + "\x04\x01\x00\x00" + m.text("")
	p := m.judge(t, map[string]code{
		"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("") + words(m.put(rule), 1)),
	}, host.PolicyOptions{})
	_, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
	require.ErrorContains(t, err, "hand: handshake (host): the policy pack's answer is not what the contract asks for: ")
}

func TestModulesAreUsedAsWhatTheyAre(t *testing.T) {
	h := newHost(t, host.NewConfig())
	load := func(world canon.World) *host.Module {
		module, err := h.LoadBytes(t.Context(), assembly{world: world}.wasm())
		require.NoError(t, err)
		return module
	}
	_, err := load(canon.WorldPolicy).NewProvider(t.Context(), host.ProviderOptions{})
	require.Equal(t, &host.WorldError{Is: canon.WorldPolicy, Wanted: canon.WorldProvider}, err)
	require.EqualError(t, err, "the module is a policy pack, and not a provider")
	_, err = load(canon.WorldProvider).NewPolicy(t.Context(), host.PolicyOptions{})
	require.EqualError(t, err, "the module is a provider, and not a policy pack")
}

func TestAPolicyPackAgreesWithItsManifest(t *testing.T) {
	m := newMemory()
	bodies := map[string]code{"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("") + words(0, 0))}
	for version, want := range map[string]string{
		"1.0.0": "", "1.1.0": "the policy pack broke the contract: its manifest says house 1.1.0, but it calls itself house 1.0.0",
	} {
		wasm, err := host.AddManifest(assembly{world: canon.WorldPolicy, bodies: bodies, data: m.data}.wasm(), host.Manifest{Name: "house", Version: version})
		require.NoError(t, err)
		module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		p, err := module.NewPolicy(t.Context(), host.PolicyOptions{})
		require.NoError(t, err)
		_, err = p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
		require.NoError(t, p.Close())
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestNothingIsThereUnlessGranted(t *testing.T) {
	t.Setenv("HUSK_TEST_SECRET", "secret")
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	require.Empty(t, mustDo(t, p, "env").answer)
	require.Contains(t, failure(t, p, "read", "/etc/passwd").Message, "Capabilities insufficient")
	require.EqualError(t, failure(t, p, "write", "f", "x"), "probe 1.2.3: invoke: open f: Capabilities insufficient\n"+
		"the provider may not write f: it is in no directory that is granted for that\nto grant it, add to the provider's grants: fs .:rw")
	require.EqualError(t, failure(t, p, "write", "/tmp/f", "x"), "probe 1.2.3: invoke: open /tmp/f: Capabilities insufficient\n"+
		"the provider may not write /tmp/f: it is in no directory that is granted for that\nto grant it, add to the provider's grants: fs /tmp:rw")
	require.ErrorIs(t, failure(t, p, "write", "f", "x"), abi.ErrDenied)
	e := failure(t, p, "mode", "/etc/passwd")
	require.Equal(t, abi.ErrorKindDenied, e.Kind)
	require.Contains(t, e.Message, "/etc/passwd is not inside a granted directory; granted: none; add the directory to the provider's grants: fs")
}

func TestGrantedVariables(t *testing.T) {
	t.Setenv("HUSK_TEST_REGION", "eu")
	t.Setenv("HUSK_TEST_SECRET", "secret")
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{
		Grants: host.Grants{Env: []string{"HUSK_TEST_REGION", "HUSK_TEST_UNSET"}},
	})
	require.Equal(t, "HUSK_TEST_REGION=eu", mustDo(t, p, "env").answer)
}

// A variable that is for husk alone is not granted, whoever grants it.
func TestVariablesOfHuskAreNotGranted(t *testing.T) {
	t.Setenv("HUSK_ACCESS_TOKEN", "secret")
	module := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{}).Module()
	_, err := module.NewProvider(t.Context(), host.ProviderOptions{Grants: host.Grants{Env: []string{"HUSK_ACCESS_TOKEN"}}})
	require.ErrorContains(t, err, "the environment variable HUSK_ACCESS_TOKEN is for husk alone")
}

// A granted variable may be seen under another name, whose own value it replaces. One that is not granted is not.
func TestMappedVariables(t *testing.T) {
	t.Setenv("HUSK_TEST_REGION", "eu")
	t.Setenv("HUSK_TEST_OTHER", "other")
	t.Setenv("HUSK_TEST_SECRET", "secret")
	h := newHost(t, host.NewConfig())
	p := provide(t, h, host.ProviderOptions{Grants: host.Grants{
		Env:            []string{"HUSK_TEST_REGION", "HUSK_TEST_OTHER", "HUSK_TEST_UNSET"},
		EnvVarMappings: map[string]string{"HUSK_TEST_REGION": "HUSK_TEST_OTHER", "HUSK_TEST_UNSET": "HUSK_TEST_NONE"},
	}})
	require.Equal(t, "HUSK_TEST_OTHER=eu HUSK_TEST_REGION=eu", mustDo(t, p, "env").answer)
	for mapped, want := range map[string]string{
		"HUSK_TEST_SECRET": "the environment variable HUSK_TEST_SECRET is to be seen as X, but is not granted",
		"HUSK_TEST_REGION": `"X=Y" is not the name of an environment variable`,
	} {
		target := map[bool]string{true: "X", false: "X=Y"}[mapped == "HUSK_TEST_SECRET"]
		_, err := p.Module().NewProvider(t.Context(), host.ProviderOptions{Grants: host.Grants{
			Env: []string{"HUSK_TEST_REGION"}, EnvVarMappings: map[string]string{mapped: target},
		}})
		require.ErrorContains(t, err, want)
	}
}

func TestGrantedDirectories(t *testing.T) {
	project := t.TempDir()
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "f"), []byte("data"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(project, "out"), 0o700))
	out, err := grant.InProject(project, "out", true)
	require.NoError(t, err)
	require.Equal(t, "/project/out", out.GuestPath)
	absolute, err := grant.InProject(project, data, false)
	require.NoError(t, err)
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{out, absolute}}})

	mustDo(t, p, "write", "out/f", "hello")
	require.Equal(t, "hello", mustDo(t, p, "read", "out/f").answer)
	require.FileExists(t, filepath.Join(project, "out", "f"))
	require.Equal(t, "data", mustDo(t, p, "read", filepath.Join(data, "f")).answer)
	require.Contains(t, failure(t, p, "write", filepath.Join(data, "f"), "x").Message, "Read-only file system")

	mustDo(t, p, "setmode", "out/f", "0640")
	require.Equal(t, "-rw-r-----", mustDo(t, p, "mode", "out/f").answer)
	for path, kind := range map[string]abi.ErrorKind{
		"out/none":               abi.ErrorKindNotFound,
		"out/../../secret":       abi.ErrorKindDenied,
		filepath.Join(data, "f"): abi.ErrorKindDenied,
	} {
		e := failure(t, p, "setmode", path, "0600")
		require.Equal(t, kind, e.Kind, path)
	}

	missing, err := grant.InProject(project, "none", false)
	require.NoError(t, err)
	_, err = p.Module().NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Grants: host.Grants{FS: []host.FSGrant{missing}}})
	require.EqualError(t, err, "granting to the provider probe: opening the granted directory \""+
		filepath.Join(project, "none")+"\": no such file or directory")
	_, err = p.Module().NewProvider(t.Context(), host.ProviderOptions{Grants: host.Grants{Env: []string{"A=B"}}})
	require.ErrorContains(t, err, "not the name of an environment variable")
}

func TestProjectGrantsKeepTheProgramsPaths(t *testing.T) {
	for dir, want := range map[string]string{
		".": "/project", "out/site": "/project/out/site", "../shared": "/shared", "/srv/www/": "/srv/www",
	} {
		granted, err := grant.InProject("/home/me/work", dir, false)
		require.NoError(t, err)
		require.Equal(t, want, granted.GuestPath, dir)
	}
}

func TestOutputBecomesLogRecords(t *testing.T) {
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger()})
	mustDo(t, p, "print", "one\n\x1b]0;title\atwo", "1")
	mustDo(t, p, "printerr", "careful\nlast")
	mustDo(t, p, "log", "forged\r\nlevel=ERROR \u202emsg=evil")
	require.Equal(t, []string{
		`level=INFO msg=one provider=probe method=invoke stream=stdout`,
		`level=INFO msg=\x1b]0;title\atwo provider=probe method=invoke stream=stdout`,
		`level=INFO msg=careful provider=probe method=invoke stream=stderr`,
		`level=INFO msg=last provider=probe method=invoke stream=stderr`,
		`level=DEBUG msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=INFO msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=WARN msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=ERROR msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=INFO msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke ephemeral=true`,
	}, logged.lines())
}

func TestConfigurationsShareNothing(t *testing.T) {
	// get-mapping writes into memory, and get-schema answers what is there.
	module := assembly{
		bodies: map[string]code{
			"get-mapping": i32Const(contents) + i32Const(0x6e656573) + "\x36\x02\x00" + returns(answer2),
			"get-schema":  returns(answer),
			"configure":   returns(answer2 + 64),
			"create":      unreachable,
		},
		data: map[uint32]string{
			answer: words(0, contents, 4), answer2: words(0, contents+8, 0, contents+8, 0), answer2 + 64: words(0, 0),
			contents: "none",
		},
	}
	for engine, config := range map[string]host.Config{"compiler": host.NewConfig(), "interpreter": host.NewConfig().WithInterpreter()} {
		t.Run(engine, func(t *testing.T) {
			h := newHost(t, config)
			write := func(p *host.Provider) {
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
				require.NoError(t, err)
			}
			requireMemory := func(p *host.Provider, want string) {
				t.Helper()
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			one, other := assemble(t, h, module), assemble(t, h, module)
			requireMemory(other, "none")
			write(one)
			requireMemory(one, "seen")
			requireMemory(other, "none")
			requireMemory(assemble(t, h, module), "none")

			// Another configuration of the same provider begins anew, and so does what comes
			// after a crash.
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			requireMemory(one, "none")
			write(one)
			_, err := one.Create(t.Context(), abi.CreateRequest{})
			require.ErrorIs(t, err, abi.ErrCrashed)
			requireMemory(one, "none")

			// What was closed leaves nothing to those who come after it.
			write(one)
			require.NoError(t, one.Close())
			requireMemory(assemble(t, h, module), "none")
		})
	}
}

// Extensions come to every instance of a configuration: to those that served before,
// to those that start later, and to those that take the place of one that crashed.
func TestEveryInstanceIsExtended(t *testing.T) {
	dir := t.TempDir()
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{
		Grants: host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/meet", ReadWrite: true}}}, Instances: 4,
	})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	// meet has that many instances serve the package's function at once.
	meet := func(pkg, place string, number int) map[string]bool {
		require.NoError(t, os.Mkdir(filepath.Join(dir, place), 0o755))
		instances := make([]done, number)
		failures := make([]error, number)
		var calls sync.WaitGroup
		for i := range number {
			calls.Go(func() {
				instances[i], failures[i] = doOf(t.Context(), p, pkg, "meet", "/meet/"+place, strconv.Itoa(i), strconv.Itoa(number))
			})
		}
		calls.Wait()
		met := make(map[string]bool)
		for i := range number {
			require.NoError(t, failures[i])
			met[instances[i].instance] = true
		}
		require.Len(t, met, number)
		return met
	}
	extend := func(parameters abi.Parameters) (abi.ParameterizeResponse, error) {
		return p.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: parameters, Extension: true})
	}

	before := meet("probe", "one", 3)
	_, err := doOf(t.Context(), p, "more", "greeting")
	require.ErrorContains(t, err, "probe 1.2.3: invoke: ")
	made, err := extend(abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"more"}})
	require.NoError(t, err)
	require.Equal(t, abi.ParameterizeResponse{Name: "more", Version: "0.1.0", Value: []byte("value")}, made)

	after := meet("more", "two", 4)
	for instance := range before {
		require.True(t, after[instance], "an instance that served before is extended, not replaced")
	}
	_, err = extend(abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "most", Version: "2.0.0"}})
	require.NoError(t, err)
	_, err = extend(abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"refuse"}})
	require.ErrorContains(t, err, "probe 1.2.3: parameterize: that is no package")

	failure(t, p, "exit", "1")
	for place, pkg := range map[string]string{"three": "probe", "four": "more", "five": "most"} {
		meet(pkg, place, 4)
		greeted, err := doOf(t.Context(), p, pkg, "greeting")
		require.NoError(t, err)
		require.Equal(t, "hello", greeted.answer, "the configuration is that of the provider")
	}
}

// Text of a guest becomes longer as it is made safe, so it is cut before.
func TestTheTextOfAnErrorIsBounded(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	const bytes, most = 1 << 20, 256 << 10
	e := failure(t, p, "fail", strings.Repeat("\x1b", bytes))
	require.Equal(t, strings.Repeat(`\x1b`, most)+"… (and 786432 bytes more)", e.Message)
	short := strings.Repeat("x", most)
	require.Equal(t, short, failure(t, p, "fail", short).Message)
}

// What calls cost is known by method: the same call costs the same fuel, and its bytes
// are those of the values that it passes.
func TestCostsOfMethods(t *testing.T) {
	h := newHost(t, host.NewConfig())
	p := provide(t, h, host.ProviderOptions{Lenient: true})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	mustDo(t, p, "greeting")
	before := p.Stats().Methods["check"]
	inputs := property.MapOf(map[string]property.Value{"text": property.String("world")})
	data, err := guestcbor.Marshal(inputs)
	require.NoError(t, err)
	for range 2 {
		_, err := p.Check(t.Context(), abi.CheckRequest{Name: "x", Type: "probe:index:Thing", News: inputs, RandomSeed: make([]byte, 32)})
		require.NoError(t, err)
	}
	check := p.Stats().Methods["check"]
	require.EqualValues(t, 2, check.Calls-before.Calls)
	require.EqualValues(t, 2*len(data), check.BytesIn-before.BytesIn)
	require.EqualValues(t, 2*len(data), check.BytesOut-before.BytesOut, "the inputs come back as they are")
	require.Positive(t, check.Fuel)
	require.Positive(t, p.Stats().Methods["configure"].BytesIn)
	require.Equal(t, check, h.Stats().Methods["check"])
}

// A call that used up its fuel has used that, and not much more.
func TestFuelOfACallThatUsedItUp(t *testing.T) {
	const most = 1_000_000
	h := newHost(t, host.NewConfig().WithLimit(limit.Fuel, most, "get-mapping").WithClock(newHandClock()))
	p := assemble(t, h, assembly{bodies: map[string]code{"get-mapping": forever + unreachable}})
	crash(t, p)
	fuel := p.Stats().Methods["get-mapping"].Fuel
	require.InDelta(t, most, fuel, most/100)
}

// Load a module, see what it is, and use it as a provider.
func Example() {
	ctx := context.Background()
	wasm, err := testmodule.Bytes("testdata/probe")
	if err != nil {
		fmt.Println(err)
		return
	}
	cache, err := testmodule.Compiled()
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	module, err := h.LoadBytes(ctx, wasm)
	if err != nil {
		fmt.Println(err)
		return
	}
	provider, err := module.NewProvider(ctx, host.ProviderOptions{Name: "probe"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()

	who, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(who.Name, who.Version)
	checked, err := provider.Check(ctx, abi.CheckRequest{
		URN:  "urn:pulumi:dev::example::probe:index:Thing::x",
		Name: "x", Type: "probe:index:Thing", RandomSeed: make([]byte, 32),
		News: property.MapOf(map[string]property.Value{"text": property.Number(1)}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, failure := range checked.Failures {
		fmt.Println(failure.Path, failure.Reason)
	}
	_, err = provider.Invoke(ctx, abi.InvokeRequest{
		Token: "probe:index:do",
		Args: property.MapOf(map[string]property.Value{
			"what": property.String("read"), "args": property.Array(property.String("/etc/passwd")),
		}),
	})
	fmt.Println(err)
	// Output:
	// probe 1.2.3
	// text expected string, got number
	// probe 1.2.3: invoke: open /etc/passwd: Capabilities insufficient
	// the provider may not read /etc/passwd: it is in no directory that is granted for that
	// to grant it, add to the provider's grants: fs /etc:ro
}
