// Package hosttest tests providers as modules, in the real host.
package hosttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
)

// New tests the provider of a module, with which it has shaken hands.
func New(t *testing.T, module *host.Module, options host.ProviderOptions) *providertest.Provider {
	t.Helper()
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	return &providertest.Provider{T: t, Context: t.Context(), Provider: p}
}
