package contacts_test

import (
	"testing"

	"github.com/husk-dev/husk/examples/internal/contactstest"
)

// The commands of the tutorial work in turn, and so does its provider.
func TestTutorial(t *testing.T) {
	environment(t, t.TempDir()) // and with it the engine
	contactstest.NewTutorial(t, "../../../..", "python", 8).Builds("python", "provider.py")
}
