package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
)

// Configurations after the first one begin where a module has shaken hands, and with
// nothing that others did afterwards.
func TestConfigurationsBeginAfterTheHandshake(t *testing.T) {
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	cancelled := importEntry{"husk:provider/control@0.1.0", "cancelled", importSignature("control", "cancelled")}
	draw := importEntry{"wasi_snapshot_preview1", "random_get", canon.Signature{Params: []byte{canon.I32, canon.I32}, Results: i32}}
	for name, c := range map[string]struct {
		does    code // in the handshake
		options host.ProviderOptions
		engines []string
		calls   []int // of the handshake, by each configuration
	}{
		"all alike":                         {calls: []int{1, 0, 0}},
		"one engine and another":            {engines: []string{"test", "test", "other", "test"}, calls: []int{1, 0, 1, 0}},
		"where a handshake draws":           {does: i32Const(64) + i32Const(1) + callFunc(1) + drop, calls: []int{1, 1, 1}},
		"where a handshake calls out":       {does: callFunc(0) + drop, calls: []int{1, 1, 1}},
		"with a variable":                   {options: host.ProviderOptions{Grants: host.Grants{Env: []string{"HUSK_TEST_VARIABLE"}}}, calls: []int{1, 1, 1}},
		"where the guest is to be asked":    {options: host.ProviderOptions{AskGuest: true}, calls: []int{1, 1, 1}},
		"where nothing is held to a schema": {options: host.ProviderOptions{Lenient: true}, calls: []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShed(t, nil)
			s.imports = []importEntry{cancelled, draw}
			answer := func(id string) int32 {
				return int32(s.memory.put(words(0) + s.memory.text(id) + s.memory.bag(t, bag()) + words(0)))
			}
			s.bodies["handshake"] = count + drop + c.does + s.bodies["handshake"]
			s.bodies["configure"] = count + drop + s.bodies["configure"]
			s.bodies["create"] = count + choose(3, answer("own"), answer("used"))
			s.learn(t)
			engines := c.engines
			if engines == nil {
				engines = []string{"test", "test", "test"}
			}
			for _, engine := range engines { // all have been heard of
				p := s.open(t, host.ProviderOptions{})
				_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: engine})
				require.NoError(t, err)
			}

			module := s.load(t)
			var calls []int
			for _, engine := range engines {
				p := s.provide(t, module, c.options)
				_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: engine})
				require.NoError(t, err)
				require.NoError(t, p.Configure(t.Context(), configuration))
				for _, want := range []string{"own", "used"} {
					created, err := p.Create(t.Context(), abi.CreateRequest{Type: crate})
					require.NoError(t, err)
					require.Equal(t, want, created.ID)
				}
				calls = append(calls, int(p.Stats().Methods["handshake"].Calls))
			}
			require.Equal(t, c.calls, calls)
		})
	}
}
