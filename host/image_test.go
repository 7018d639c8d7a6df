package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// Instances begin where another one was after the setup, with nothing that it did later.
func TestInstancesBeginConfigured(t *testing.T) {
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger()})
	configure := func(greeting string) {
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
			Inputs: property.MapOf(map[string]property.Value{"greeting": property.String(greeting)}),
		}))
	}
	setUp := func() (times int) {
		for _, line := range logged.lines() {
			times += strings.Count(line, "msg=configured")
		}
		return times
	}
	seen := map[string]bool{}
	for _, greeting := range []string{"hello", "welcome"} {
		configure(greeting)
		before := setUp()
		for range 5 {
			d := mustDo(t, p, "greeting")
			require.Equal(t, greeting, d.answer)
			require.EqualValues(t, 1, d.served)
			require.False(t, seen[d.instance], "instances do not share what they draw after the setup")
			seen[d.instance] = true
			failure(t, p, "exit", "1")
		}
		require.Equal(t, before+1, setUp(), "the second instance is set up call by call, further ones as it was")
	}
}

// Closing provider and host while a call runs ends the call, and nothing else.
func TestClosingUnderACall(t *testing.T) {
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(scratch+"/cache"))
	require.NoError(t, err)
	logged := &records{}
	p := provide(t, h, host.ProviderOptions{Logger: logged.logger()})
	mustDo(t, p, "nothing")
	failed := make(chan error)
	go func() {
		_, err := do(context.Background(), p, "flood", "on")
		failed <- err
	}()
	for len(logged.lines()) == 0 {
		mustDo(t, p, "nothing") // until the other call is in the guest
	}
	require.NoError(t, p.Close())
	require.NoError(t, h.Close(context.Background()))
	require.ErrorContains(t, <-failed, "closed")
}
