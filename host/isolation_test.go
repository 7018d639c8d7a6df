package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

func TestConfigurationsShareNothing(t *testing.T) {
	// get-mapping writes into memory, and get-schema answers what is there.
	module := assembly{
		bodies: map[string]code{
			"get-mapping": i32Const(contents) + i32Const(0x6e656573) + "\x36\x02\x00" + returns(answer2),
			"get-schema":  returns(answer),
			"configure":   returns(answer2 + 64),
			"create":      unreachable,
		},
		data: map[uint32]string{
			answer: words(0, contents, 4), answer2: words(0, contents+8, 0, contents+8, 0), answer2 + 64: words(0, 0),
			contents: "none",
		},
	}
	for engine, config := range map[string]host.Config{"compiler": host.NewConfig(), "interpreter": host.NewConfig().WithInterpreter()} {
		t.Run(engine, func(t *testing.T) {
			h := newHost(t, config)
			write := func(p *host.Provider) {
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
				require.NoError(t, err)
			}
			requireMemory := func(p *host.Provider, want string) {
				t.Helper()
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			one, other := assemble(t, h, module), assemble(t, h, module)
			requireMemory(other, "none")
			write(one)
			requireMemory(one, "seen")
			requireMemory(other, "none")
			requireMemory(assemble(t, h, module), "none")

			// Another configuration of the same provider begins anew, and so does what comes
			// after a crash.
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			requireMemory(one, "none")
			write(one)
			_, err := one.Create(t.Context(), abi.CreateRequest{})
			require.ErrorIs(t, err, abi.ErrCrashed)
			requireMemory(one, "none")

			// What was closed leaves nothing to those who come after it.
			write(one)
			require.NoError(t, one.Close())
			requireMemory(assemble(t, h, module), "none")
		})
	}
}
