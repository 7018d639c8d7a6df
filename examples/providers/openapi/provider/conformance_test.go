package provider_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/examples/internal/petstore"
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

// The package of a document keeps to the contract, with a service behind it.
func TestConformance(t *testing.T) {
	for seed := range uint64(2) {
		s := petstore.New(t, document)
		parameters := args("./"+document, "petstore")
		report, err := conformance.Run(t.Context(), func(context.Context) (abi.Provider, error) {
			return guest.New(provider.New())
		}, conformance.Options{
			Seed: seed, Parameters: &parameters,
			Config: pt.MapOf(pt.Object{"baseUrl": s.URL + "/v2", "token": "t0ken", "username": "admin", "password": "pa55"}),
			Observe: func(context.Context) (map[string]string, error) {
				return map[string]string{"the store": s.Contents()}, nil
			},
		})
		require.NoError(t, err)
		for _, r := range report.Results {
			require.NotEqual(t, conformance.Failed, r.Status, "%s of %s: %s", r.Check, r.Subject, r.Message)
			if r.Status == conformance.Skipped {
				require.Equal(t, "read-import of petstore:index:Tag", r.Check+" of "+r.Subject, r.Message)
			}
		}
	}
}
