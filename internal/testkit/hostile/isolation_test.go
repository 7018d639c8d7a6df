package hostile_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// TestConfigurationsShareNothing calls a module that answers what it was asked before, in
// two configurations in turn: each remembers its own, and a fresh instance nothing.
func TestConfigurationsShareNothing(t *testing.T) {
	for name, config := range ways {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, usual.config(config()))
			ask := func(p *host.Provider, key string) string {
				response, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: key})
				require.NoError(t, err)
				return response.Provider
			}
			module := assemble(t, "remember.wat")
			a := provide(t, h, module, host.ProviderOptions{Instances: 1})
			require.Equal(t, "nothing", ask(a, "secret of a"))
			b := provide(t, h, module, host.ProviderOptions{Instances: 1})
			require.Equal(t, "nothing", ask(b, "secret of b"))
			require.Equal(t, "secret of a", ask(a, "more"))
			require.Equal(t, "secret of b", ask(b, "more"))
			require.NoError(t, a.Close())
			c := provide(t, h, module, host.ProviderOptions{Instances: 1})
			require.Equal(t, "nothing", ask(c, "secret of c"), "not what a memory that was used before holds")
		})
	}
}

// keyed is a store that keeps the keys that it was asked for.
type keyed struct {
	abi.KV
	keys []string
}

func (k *keyed) Get(_ context.Context, key string) (abi.KVItem, error) {
	k.keys = append(k.keys, key)
	return abi.KVItem{}, abi.NewError(abi.ErrorKindNotFound, "there is nothing")
}

// TestArgumentsAreCopiedBeforeTheyAreChecked has a module change the key that it asks for
// while the host needs memory for the answer.
func TestArgumentsAreCopiedBeforeTheyAreChecked(t *testing.T) {
	store := &keyed{}
	p := provide(t, newHost(t, host.NewConfig()), assemble(t, "allocator-rewrites.wat"), host.ProviderOptions{Grants: host.Grants{KV: store}})
	_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.Len(t, store.keys, 1)
	require.True(t, strings.HasSuffix(store.keys[0], "harmless"), store.keys[0]) // after what is the host's own
}

// TestCrashesLeaveNothingBehind crashes a module again and again, in configurations that
// come and go.
func TestCrashesLeaveNothingBehind(t *testing.T) {
	configurations, crashes := 20, 5
	if testing.Short() {
		configurations = 3
	}
	h := newHost(t, usual.config(host.NewConfig()))
	n := newNeighbour(t, h)
	module, err := h.LoadBytes(t.Context(), assemble(t, "crash.wat"))
	require.NoError(t, err)
	goroutines := runtime.NumGoroutine()
	n.whileItAnswers(t, func() {
		for range configurations {
			p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hostile", Lenient: true})
			require.NoError(t, err)
			for range crashes {
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
				require.ErrorIs(t, err, abi.ErrCrashed)
			}
			require.NoError(t, p.Close())
		}
	})
	for runtime.NumGoroutine() > goroutines {
		runtime.Gosched() // those of calls that are over end soon
	}
}

// records takes what is logged, as text.
type records struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// stopped is a clock that stands, so that what may be logged does not grow with time.
type stopped struct{ host.Clock }

func (stopped) Elapsed() time.Duration { return 0 }

// TestWhatModulesSay has a module log what would forge lines, speak to a terminal, or turn
// text around, and log without end.
func TestWhatModulesSay(t *testing.T) {
	logged := &records{}
	few := bounds{fuel: usual.fuel, pages: usual.pages, calls: 1000}
	p := provide(t, newHost(t, few.config(host.NewConfig().WithClock(stopped{host.SystemClock()}))), assemble(t, "inputs/say.wat"),
		host.ProviderOptions{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	for name, text := range map[string]string{
		"a line":           "innocent\nlevel=ERROR msg=forged",
		"a carriage":       "innocent\rlevel=ERROR msg=forged",
		"a title":          "\x1b]0;forged\x07",
		"a clipboard":      "\x1b]52;c;Zm9yZ2Vk\x07",
		"a cleared screen": "\x1b[2J\u009b2J",
		"turned text":      "\u202eforged\u2066",
		"other lines":      "a\u2028b\u2029c\u0085d",
		"an annotation":    "innocent\n::error::forged",
	} {
		_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: text})
		require.NoError(t, err, name)
	}
	text := logged.String()
	require.NotContains(t, text, "\nlevel=ERROR msg=forged")
	require.NotContains(t, text, "\n::error::")
	for _, r := range text {
		require.NotContains(t, "\r\x1b\x07\u009b\u202e\u2066\u2028\u2029\u0085", string(r))
	}
	for line := range strings.Lines(text) {
		require.True(t, strings.HasPrefix(line, "time="), line)
	}

	_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: strings.Repeat("flood ", 1000), Provider: "x"})
	require.Equal(t, "crashed (policy): exceeds host-calls", outcome("", err))
	logRate, _ := limit.Named("log-rate")
	require.Less(t, len(logged.String()), 8*int(logRate.Default))
	require.Contains(t, logged.String(), "is dropped")
}
