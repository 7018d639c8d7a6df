package filestore_test

import (
	"testing"

	"github.com/husk-dev/husk/internal/testkit/doctest"
)

// docs/state.md names the tests that show what it promises.
func TestDocument(t *testing.T) {
	doctest.Require(t, "../../..", "docs/state.md")
}
