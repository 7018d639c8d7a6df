package hostile_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// newHost makes a host that shares the tests' cache.
func newHost(t *testing.T, config host.Config) *host.Host {
	t.Helper()
	return testmodule.Host(t, config)
}

// provide makes a provider of a module. It is not asked for a schema, which few have.
func provide(t *testing.T, h *host.Host, wasm []byte, options host.ProviderOptions) *host.Provider {
	t.Helper()
	module, err := h.LoadBytes(t.Context(), wasm)
	require.NoError(t, err)
	options.Name, options.Lenient = "hostile", true
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// neighbour is a provider that means well, in the same host.
type neighbour struct {
	*host.Provider
	host *host.Host
}

func newNeighbour(t *testing.T, h *host.Host) neighbour {
	return neighbour{provide(t, h, assemble(t, "inputs/neighbour.wat"), host.ProviderOptions{}), h}
}

// answers holds that the neighbour can be called.
func (n neighbour) answers() error {
	response, err := n.GetMapping(context.Background(), abi.GetMappingRequest{Key: "neighbour"})
	if err == nil && response.Provider != "neighbour" {
		return errNotEchoed
	}
	return err
}

var errNotEchoed = errors.New("the answer is not the request")

// whileItAnswers runs the attack, while the neighbour is called over and over. Each
// answer is right.
func (n neighbour) whileItAnswers(t *testing.T, attack func()) {
	t.Helper()
	ended, checked := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			if err = n.answers(); err != nil {
				break
			}
			select {
			case <-ended:
				checked <- nil
				return
			case <-time.After(time.Millisecond): // a neighbour that takes all of a processor shows no more
			}
		}
		checked <- err
	}()
	attack()
	close(ended)
	require.NoError(t, <-checked, "a provider that does no harm suffers")
	require.NoError(t, n.answers(), "a provider that does no harm suffers afterwards")
}

// alive waits until a goroutine and the garbage collector of the host had their turns,
// and the neighbour has answered, each several times.
func (n neighbour) alive() error {
	heart := time.NewTicker(time.Millisecond)
	defer heart.Stop()
	for range 3 {
		<-heart.C
		runtime.GC()
		if err := n.answers(); err != nil {
			return err
		}
	}
	return nil
}
