package guest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/guest-sdk/internal/testprovider"
)

func TestListAndMappings(t *testing.T) {
	p, err := guest.New(testprovider.Provider())
	require.NoError(t, err)
	pages, err := listed(t.Context(), p, abi.ListRequest{Token: plaque, Limit: 3})
	require.NoError(t, err)
	require.Equal(t, [][]abi.ListedResource{{{ID: "plaque-a", Name: "a"}, {ID: "plaque-b", Name: "b"}}, {{ID: "plaque-c", Name: "c"}}}, pages)
	_, err = p.List(t.Context(), abi.ListRequest{Token: animal})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
	_, err = p.List(t.Context(), abi.ListRequest{Token: "zoo:index:Beast"})
	require.ErrorIs(t, err, abi.ErrNotFound)

	mappings, err := p.GetMappings(t.Context(), abi.GetMappingsRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, []string{"menagerie", "aquarium"}, mappings.Providers)
	mapping, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, abi.GetMappingResponse{Provider: "menagerie", Data: []byte("animals")}, mapping)
	_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "bicep"})
	require.EqualError(t, err, "zoo has no mapping for bicep")
}
