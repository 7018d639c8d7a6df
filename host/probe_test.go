package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/rewriting"
	"github.com/husk-dev/husk/internal/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// probe builds testdata/probe.
func probe(t testing.TB) string {
	t.Helper()
	return testmodule.File(t, "testdata/probe")
}

// extent is for which modules the hosts of newHost do what makes large ones faster. With the variable
// set to all, the tests of the package show that it makes no difference.
func extent() rewriting.Extent {
	if os.Getenv("HUSK_TEST_REWRITING") == "all" {
		return rewriting.All
	}
	return rewriting.Large
}

// newHost makes a host that shares the tests' cache.
func newHost(t *testing.T, config host.Config) *host.Host {
	t.Helper()
	return testmodule.HostIn(t, rewriting.With(t.Context(), extent()), config)
}

// provide loads the probe and shakes hands.
func provide(t *testing.T, h *host.Host, options host.ProviderOptions) *host.Provider {
	t.Helper()
	module, err := h.Load(t.Context(), probe(t))
	require.NoError(t, err)
	options.Name = "probe"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	response, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	require.Equal(t, "probe", response.Name)
	require.Equal(t, "1.2.3", response.Version)
	return p
}

// done is the answer of the probe's function.
type done struct {
	answer, instance string
	served           float64
}

// do calls the probe's function.
func do(ctx context.Context, p abi.Provider, what string, args ...string) (done, error) {
	return doOf(ctx, p, "probe", what, args...)
}

// doOf calls the function of a package that the probe serves.
func doOf(ctx context.Context, p abi.Provider, pkg, what string, args ...string) (done, error) {
	list := make([]property.Value, len(args))
	for i, arg := range args {
		list[i] = property.String(arg)
	}
	response, err := p.Invoke(ctx, abi.InvokeRequest{Token: pkg + ":index:do", Args: property.MapOf(map[string]property.Value{
		"what": property.String(what), "args": property.Array(list...),
	})})
	if err != nil {
		return done{}, err
	}
	var d done
	d.answer, _ = response.Result.Get("answer").AsString()
	d.instance, _ = response.Result.Get("instance").AsString()
	d.served, _ = response.Result.Get("served").AsNumber()
	return d, nil
}

func mustDo(t *testing.T, p abi.Provider, what string, args ...string) done {
	t.Helper()
	d, err := do(t.Context(), p, what, args...)
	require.NoError(t, err)
	return d
}

// failure calls the probe's function and answers its error, which must name the probe.
func failure(t *testing.T, p abi.Provider, what string, args ...string) *abi.Error {
	t.Helper()
	_, err := do(t.Context(), p, what, args...)
	require.Error(t, err)
	e := err.(*abi.Error)
	require.Equal(t, "probe", e.Provider)
	require.Equal(t, "1.2.3", e.Version)
	require.Equal(t, "invoke", e.Method)
	return e
}

// records collects log records as lines of text without their time.
type records struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func (r *records) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
}

// stoppedClock stands at one moment.
type stoppedClock struct{ host.Clock }

func (stoppedClock) Now() time.Time { return time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC) }
