package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
)

// What a provider was refused is granted where its other grants are: in the project file, or
// in the command where no project lists the provider.
func TestGrantAdvice(t *testing.T) {
	const entry = "to grant it, add to this provider's entry under plugins.providers in the project file:\n  grants:\n    "
	const command = "to grant it, add to the command: --grant "
	for _, c := range []struct {
		refused                   host.Refusal
		project, detached, single string
	}{
		{host.Refusal{Capability: "kv"}, "kv: true", "shop:kv", "kv"},
		{
			host.Refusal{Capability: "tcp", Scope: "[::1]:22"},
			"tcp:\n      - \"[::1]:22\"", "shop:tcp=[::1]:22", "tcp=[::1]:22",
		},
		{
			host.Refusal{Capability: "http", Scope: "https://example.org"},
			"http:\n      - https://example.org", "shop:http=https://example.org", "http=https://example.org",
		},
		{
			host.Refusal{Capability: "http", Scope: "https://example.org", Methods: []string{"GET", "DELETE"}},
			"http:\n      - {url: \"https://example.org\", methods: [GET, DELETE]}",
			"shop:http=https://example.org", "http=https://example.org",
		},
	} {
		require.Equal(t, entry+c.project, grantAdvice(&program.ProviderPlugin{Name: "shop", Path: "shop.wasm"})(c.refused))
		require.Equal(t, command+c.detached, grantAdvice(&program.ProviderPlugin{Name: "shop"})(c.refused))
		require.Equal(t, command+c.single, flagToGrant(c.refused))
	}
}
