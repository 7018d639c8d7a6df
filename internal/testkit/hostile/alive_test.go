package hostile_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

var (
	errAlive  = errors.New("the host is alive")
	errInTime = errors.New("the time is over")
)

// TestEndlessModulesEnd gives each module that never ends a host with one processor. It
// ends when its call is cancelled, which a goroutine of the host does once the garbage
// collector ran and the neighbour answered, again and again, while the module had the
// processor; if they did not get it, the test would not end. It also ends at a deadline.
func TestEndlessModulesEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for dozens of modules to be stopped")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	corpus := entries(t)
	for name, config := range ways {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, config().WithCancelGrace(time.Millisecond))
			n := newNeighbour(t, h)
			for _, e := range corpus {
				if e.endless == "" {
					continue
				}
				p := provide(t, h, assemble(t, e.file), host.ProviderOptions{})
				t.Run(strings.TrimSuffix(e.file, ".wat")+"/is cancelled", func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					suffered := make(chan error, 1)
					go func() {
						suffered <- n.alive()
						cancel(errAlive)
					}()
					_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
					require.NoError(t, <-suffered)
					e.requireStopped(t, err, errAlive)
				})
				t.Run(strings.TrimSuffix(e.file, ".wat")+"/has a deadline", func(t *testing.T) {
					ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, errInTime)
					defer cancel()
					_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
					e.requireStopped(t, err, errInTime)
				})
			}
		})
	}
}

// requireStopped holds that the call was ended, for that reason. Where only the release of
// the answer never ends, the answer is not lost.
func (e entry) requireStopped(t *testing.T, err, cause error) {
	t.Helper()
	if e.endless == "release" {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.Equal(t, "the call was stopped: "+cause.Error(), abi.AsError(err).Message)
}
