package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/internal/testmodule"
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

// What a module prepares ahead of all calls is in each instance that begins with an image,
// unless it does more than to look around.
func TestInstancesBeginPrepared(t *testing.T) {
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	const prepared, plain = answer + 100, answer
	cancelled := importEntry{"husk:provider/control@0.1.0", "cancelled", importSignature("control", "cancelled")}
	for name, c := range map[string]struct {
		prepare code
		want    string
	}{
		"prepared":           {count + drop, "prepared"},
		"one that traps":     {count + drop + unreachable, "plain"},
		"one that calls out": {count + drop + callFunc(0) + drop, "plain"},
		"one without end":    {count + drop + "\x03\x40\x0c\x00\x0b", "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.NewConfig())
			m, err := h.LoadBytes(t.Context(), assembly{
				imports: []importEntry{cancelled},
				bodies:  map[string]code{"get-schema": count + choose(1, plain, prepared), "wizer-initialize": c.prepare},
				data: map[uint32]string{
					plain: words(0, contents, 5), prepared: words(0, contents+100, 8),
					contents: "plain", contents + 100: "prepared",
				},
			}.wasm())
			require.NoError(t, err)
			for _, use := range []struct {
				grants host.Grants
				want   string
			}{
				{host.Grants{}, c.want},
				{host.Grants{Env: []string{"HUSK_TEST_VARIABLE"}}, "plain"},
				{host.Grants{}, c.want},
			} {
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Grants: use.grants})
				require.NoError(t, err)
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, use.want, got)
				require.NoError(t, p.Close())
			}
		})
	}
}

// What wazero has made for an instance serves the next one, unless it has become another.
func TestInstancesLeaveTheirModule(t *testing.T) {
	for name, c := range map[string]struct {
		does code // each time that the schema is asked for, which crashes where it answers 0
		left bool
	}{
		"with its memory as large as before": {i32Const(1), true},
		"with a larger memory":               {i32Const(1) + "\x40\x00", false},
		"after a crash":                      {i32Const(0), false},
	} {
		for _, where := range []string{"made", "kept"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				m, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{
					bodies: map[string]code{"get-schema": c.does + "\x45\x04\x40\x00\x0b" + count + choose(1, answer, answer2)},
					data: map[uint32]string{
						answer: words(0, contents, 5), answer2: words(0, contents+5, 5), contents: "first" + "later",
					},
				}.wasm())
				require.NoError(t, err)
				left := 0
				for range 3 {
					p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
					require.NoError(t, err)
					for _, want := range []string{"first", "later", "later"} {
						if got, err := schema(t.Context(), p); err == nil {
							require.Equal(t, want, got, "globals are those of the image")
						}
					}
					before := m.Spares()
					require.NoError(t, p.Close())
					left += m.Spares() - before
				}
				if image.Shared && c.left {
					require.Positive(t, left)
				}
			})
		}
	}
}

// Closing provider and host while a call runs ends the call, and nothing else.
func TestClosingUnderACall(t *testing.T) {
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(testmodule.CacheDir(t)))
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
