package test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
)

// conforms runs the tests of the contract with generated inputs.
func conforms(t *testing.T, open conformance.Open, options conformance.Options) {
	t.Helper()
	for options.Seed = range uint64(3) {
		report, err := conformance.Run(t.Context(), open, options)
		require.NoError(t, err)
		for _, failure := range report.Failures() {
			t.Errorf("seed %d: %s: %s: %s", options.Seed, failure.Subject, failure.Check, failure.Message)
		}
	}
}

func TestFrameworkConformance(t *testing.T) {
	world := shelf.NewWorld()
	conforms(t, func(context.Context) (abi.Provider, error) { return provider(t, world, terraform.Mapping{}), nil }, conformance.Options{})
}
