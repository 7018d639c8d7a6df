package difftest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/examples/internal/hosttest"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/host"
)

// twins are a provider in this program and the same in a module, which is asked all that its
// host could answer by the schema. sparing is the module where the host does.
type twins struct {
	t       *testing.T
	native  abi.Provider
	module  abi.Provider
	sparing *host.Provider
	entropy *entropy
	clock   *clock
	calls   uint64
	asked   int
}

// newTwins loads the module with load.
func newTwins(t *testing.T, declared guest.Provider, load func(host.Config) *host.Module, o Options) *twins {
	t.Helper()
	w := &twins{
		t: t, entropy: &entropy{}, clock: &clock{Clock: host.SystemClock(), now: startOfTime},
	}
	w.entropy.reset(0)
	var err error
	w.native, err = guest.New(declared)
	require.NoError(t, err)
	load(host.NewConfig()) // a host with random numbers of its own keeps nothing of what it compiles
	// One instance, started now, so that starting reads no random bytes of later calls.
	module := load(host.NewConfig().WithRandom(w.entropy).WithClock(w.clock))
	// What the host holds answers to is not what is compared here.
	w.module = hosttest.New(t, module, host.ProviderOptions{Name: declared.Name, Grants: o.Grants, Instances: 1, Lenient: true}).Provider
	if o.Adapt != nil {
		w.native, w.module = o.Adapt(w.native), o.Adapt(w.module)
	}
	w.sparing, err = module.NewProvider(t.Context(), host.ProviderOptions{Name: declared.Name, Grants: o.Grants, Instances: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.sparing.Close()) })
	_, err = w.sparing.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.FeaturesSecrets})
	require.NoError(t, err)
	require.NoError(t, w.sparing.Configure(t.Context(), abi.ConfigureRequest{Inputs: o.Module}))
	require.NoError(t, w.module.Configure(t.Context(), abi.ConfigureRequest{Inputs: o.Module}))
	require.NoError(t, w.native.Configure(t.Context(), abi.ConfigureRequest{Inputs: o.Native}))
	return w
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	require.TestingT
	Helper()
}

// ask puts one question to both, and requires the same answer. The answer is the
// program's.
func ask[Q, R any](w *twins, t failer, what string, question Q, method func(abi.Provider, context.Context, Q) (R, error)) (R, error) {
	t.Helper()
	w.calls++
	w.asked++
	cryptotest.SetGlobalRandom(w.t, w.calls)
	answer, err := method(w.native, guest.WithClock(w.t.Context(), w.clock.Now), question)
	w.entropy.reset(w.calls)
	other, otherErr := method(w.module, w.t.Context(), question)

	describe := func(answer R, err error) string {
		if err != nil {
			return canontest.Dump(abi.AsError(err))
		}
		return canontest.Dump(answer)
	}
	if ours, theirs := describe(answer, err), describe(other, otherErr); ours != theirs {
		require.Equal(t, ours, theirs, "%s: the program answers %v %v, the module %v %v, to %v", what, answer, err, other, otherErr, question)
	}
	if before := w.bySchema(); w.spares(question) {
		third, thirdErr := method(w.sparing, w.t.Context(), question)
		if w.bySchema() > before { // else it was the guest's answer, which the host holds to the schema
			require.Equal(t, describe(other, otherErr), describe(third, thirdErr), "%s by the schema, to %v", what, question)
		}
	}
	return answer, err
}

// spares reports whether the host may have the answer in the schema.
func (w *twins) spares(question any) bool {
	switch question.(type) {
	case abi.CheckRequest, abi.DiffRequest:
		return true
	}
	return false
}

// bySchema is how often the host has answered by the schema.
func (w *twins) bySchema() uint64 {
	methods := w.sparing.Stats().Methods
	return methods["check"].BySchema + methods["diff"].BySchema
}

// answerless makes a method without an answer into one with an empty answer.
func answerless[Q any](method func(abi.Provider, context.Context, Q) error) func(abi.Provider, context.Context, Q) (struct{}, error) {
	return func(p abi.Provider, ctx context.Context, question Q) (struct{}, error) {
		return struct{}{}, method(p, ctx, question)
	}
}

// entropy are the random bytes of modules: the stream that cryptotest.SetGlobalRandom
// gives programs. Modules crash rather than get none.
type entropy struct {
	mu     sync.Mutex
	stream *rand.ChaCha8
}

func (e *entropy) reset(seed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	e.stream = rand.NewChaCha8(key)
}

func (e *entropy) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream == nil {
		return 0, errors.New("there is no seed")
	}
	return e.stream.Read(p)
}

var startOfTime = time.Date(2030, time.June, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still, but for the monotonic one, by which a module's
// runtime measures.
type clock struct {
	host.Clock
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
