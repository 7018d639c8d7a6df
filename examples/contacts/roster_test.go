package contacts_test

import (
	"testing"

	"github.com/husk-dev/husk/examples/internal/contactstest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// The program roster registers and deploys the same in each language.
func TestRoster(t *testing.T) {
	if nightly.Enabled() {
		t.Run("go", func(t *testing.T) {
			contactstest.Roster(t, testmodule.Load(t, "roster/go", host.NewConfig()), "roster.misbehave")
		})
	}
	t.Run("rust", func(t *testing.T) { contactstest.Roster(t, load(t, rosterInRust), "panicked at src/lib.rs:") })
}
