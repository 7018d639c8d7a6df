package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// Instances that serve nothing end, and what comes later begins where they began.
func TestIdleInstancesEnd(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Hour)) // the test does without
	p := provide(t, h, host.ProviderOptions{})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	shared := t.TempDir()
	both := provide(t, h, host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{{HostPath: shared, GuestPath: "/shared", ReadWrite: true}}}})
	done := make(chan error)
	go func() {
		_, err := do(t.Context(), both, "meet", "/shared", "a", "2")
		done <- err
	}()
	mustDo(t, both, "meet", "/shared", "b", "2")
	require.NoError(t, <-done)
	require.Equal(t, 2, both.Stats().Instances)

	first := mustDo(t, p, "greeting")
	h.EndStale() // has seen them idle
	require.Equal(t, 3, h.Stats().Instances)
	require.Equal(t, first.instance, mustDo(t, p, "greeting").instance)
	mustDo(t, both, "nothing")
	h.EndStale()
	require.Equal(t, 1, p.Stats().Instances, "what was used meanwhile is kept")
	require.Equal(t, 1, both.Stats().Instances, "and so is only what was needed")
	h.EndStale()
	require.Zero(t, h.Stats().Instances)
	require.Zero(t, h.Stats().Memory)

	again := mustDo(t, p, "greeting")
	require.Equal(t, "hello", again.answer)
	require.NotEqual(t, first.instance, again.instance)
	require.EqualValues(t, 1, again.served)
}

// The host ends idle instances by itself.
func TestIdleInstancesAreLookedFor(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Millisecond))
	p := provide(t, h, host.ProviderOptions{})
	mustDo(t, p, "nothing")
	require.Eventually(t, func() bool { return p.Stats().Instances == 0 }, time.Minute, time.Millisecond)
	mustDo(t, p, "nothing")
	require.Eventually(t, func() bool { return p.Stats().Instances == 0 }, time.Minute, time.Millisecond)
}

// Of many configurations that were called once, few keep an instance.
func TestIdleInstancesAreFew(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Hour).WithIdleInstances(4))
	for range 40 {
		mustDo(t, provide(t, h, host.ProviderOptions{}), "nothing")
	}
	for h.Stats().Instances > 5 { // they are ended meanwhile
		mustDo(t, provide(t, h, host.ProviderOptions{}), "nothing")
	}
}
