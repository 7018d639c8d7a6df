package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
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
	p := provide(t, newHost(t, host.NewConfig().WithMemoryLimit(64<<20)), host.ProviderOptions{})
	for what, c := range map[string]struct {
		args []string
		want []string
	}{
		"crash":    {[]string{"it broke"}, []string{"panic: it broke", "\n  at main.init.func5.1 (main.go:"}},
		"exit":     {[]string{"3"}, []string{"exited with code 3", "\n  at main.do"}},
		"recurse":  {nil, []string{"out of memory", "\n  at main.recurse (main.go:"}},
		"hoard":    {nil, []string{"out of memory", "refused more memory than the 64 MiB that it may have"}},
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
	require.Contains(t, failure(t, p, "panic", "as you please").Message, "panic: as you please")
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
	require.Contains(t, modules[0].Exports, "husk:provider/provider@0.1.0#check")
	require.Contains(t, modules[0].Imports, host.Import{Module: "husk:provider/log@0.1.0", Name: "write"})
	require.Nil(t, modules[0].Manifest)
	entries, err := filepath.Glob(filepath.Join(testmodule.CacheDir(t), "*.code"))
	require.NoError(t, err)
	require.NotEmpty(t, entries)
}
