// Package contacts_test holds the provider in TypeScript to the contract, and to the same in Go.
package contacts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/examples/internal/contactstest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/jsbuild"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// built builds a directory as its author would, with npm's packages, and with the engine where a checkout has it.
func built(t testing.TB, dir string) []byte {
	for _, program := range []string{"npm", "pip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	sdk, err := filepath.Abs("../../../../guest-sdk/js")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(sdk, "engine.wasm")); err != nil {
		contactstest.Run(t, sdk, filepath.Join(sdk, "engine", "build.sh"), ".")
	}
	contactstest.Run(t, dir, "npm", "install", "--no-audit", "--no-fund")
	dir, err = filepath.Abs(dir)
	require.NoError(t, err)
	wasm, err := jsbuild.Build(t.Context(), dir, dir)
	require.NoError(t, err)
	return wasm
}

func TestContacts(t *testing.T) {
	wasm := built(t, "..")
	t.Run("its types fit", func(t *testing.T) { contactstest.Run(t, "..", "npm", "run", "--silent", "check") })
	contactstest.Module(t, wasm, contactstest.WithoutZeros)
}

// The program roster is the one in Go.
func TestRoster(t *testing.T) {
	const dir = "../../roster/typescript"
	module, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built(t, dir))
	require.NoError(t, err)
	t.Run("its types fit", func(t *testing.T) { contactstest.Run(t, dir, "npm", "run", "--silent", "check") })
	contactstest.Roster(t, module, "TypeError", "at misbehave (")
	t.Run("what nothing waits for fails it", func(t *testing.T) { contactstest.RosterFailsLater(t, module) })
}

// BenchmarkInstance has what the RATIONALE says of the size of a provider in TypeScript and of its time.
func BenchmarkInstance(b *testing.B) { contactstest.Benchmark(b, built(b, "..")) }
