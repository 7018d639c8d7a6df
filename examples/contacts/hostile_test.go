package contacts_test

import (
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/internal/contactstest"
	"github.com/husk-dev/husk/examples/internal/difftest"
)

// Whatever the service answers or the engine asks, the module refuses it as the provider in Go does, or has the same answer.
func TestHostile(t *testing.T) {
	inEach(t, func(t *testing.T, open contactstest.Opener) {
		long := 2_000_000
		if languageOf(t) == "python" || testing.Short() {
			long = 200_000 // each character is a step of the interpreter
		}
		difftest.Hostile(t, difftest.HostileOptions{Long: long, Open: func(t testing.TB, url string) abi.Provider { return open(t, false, url) }})
	})
}
