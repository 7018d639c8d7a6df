package contacts_test

import (
	"testing"

	"github.com/husk-dev/husk/examples/internal/difftest"
	"github.com/husk-dev/husk/host"
)

// Whatever the service answers or the engine asks, the module refuses it as the provider in Go does, or has the same answer.
func TestHostile(t *testing.T) {
	inEach(t, func(t *testing.T, open func(testing.TB, bool, string) *host.Provider) {
		difftest.Hostile(t, difftest.HostileOptions{Long: 8_000_000, Open: func(t testing.TB, url string) *host.Provider { return open(t, false, url) }})
	})
}
