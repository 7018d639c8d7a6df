package root_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/providercmd"
	"github.com/husk-dev/husk/conformance"
)

// The help of husk says what the test does by default, without the package that decides.
func TestTheHelpSaysHowMuchIsGenerated(t *testing.T) {
	require.Equal(t, conformance.DefaultGenerated, providercmd.Generated)
}
