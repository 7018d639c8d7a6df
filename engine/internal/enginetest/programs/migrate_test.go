package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// TestResourcesWithoutAProviderGetTheDefaultOne: the states of the first versions name
// no providers. Such a stack is refreshed, updated, and destroyed like any other.
func TestResourcesWithoutAProviderGetTheDefaultOne(t *testing.T) {
	old := func(t *testing.T) *enginetest.Stack {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(enginetest.Plain, "1"))
		s.Cloud.Calls()
		s.Config = []abi.ConfigEntry{{Key: "test:region", Value: "eu", Secret: true}}
		var resources []*state.Resource
		for _, r := range s.Snapshot().Resources() {
			if r.IsProvider() {
				continue
			}
			without := *r
			without.Provider = ""
			resources = append(resources, &without)
		}
		st, err := s.Open(t.Context())
		require.NoError(t, err)
		require.NoError(t, st.Replace(t.Context(), state.NewSnapshot(resources...)))
		require.NoError(t, st.Close(t.Context()))
		return s
	}
	providers := func(s *enginetest.Stack) (out []*state.Resource) {
		for _, r := range s.Snapshot().Resources() {
			if r.IsProvider() {
				out = append(out, r)
			}
		}
		return out
	}
	t.Run("refresh", func(t *testing.T) {
		s := old(t)
		s.Refresh()
		got := providers(s)
		require.Len(t, got, 1)
		require.Equal(t, urn.URN("urn:pulumi:dev::proj::pulumi:providers:test::default"), got[0].URN)
		require.True(t, got[0].Inputs.Get("region").Equal(property.Secret(property.String("eu"))), "configured as the stack is")
		require.NoError(t, s.Snapshot().Verify())
		id := got[0].ID
		s.Refresh()
		require.Equal(t, id, providers(s)[0].ID)
	})
	t.Run("up", func(t *testing.T) {
		s := old(t)
		changes := s.Up(enginetest.Chain(enginetest.Plain, "1"))
		require.Equal(t, 4, changes.Same)
		require.Zero(t, changes.Create+changes.Replace+changes.Delete)
		require.Empty(t, s.Cloud.Calls())
	})
	t.Run("preview leaves the state as it is", func(t *testing.T) {
		s := old(t)
		st, err := s.Open(t.Context())
		require.NoError(t, err)
		result, err := engine.Preview(t.Context(), engine.Deployment{
			Project: "proj", Stack: "dev", Providers: s.Cloud, State: st,
		}, engine.Up{Program: enginetest.Chain(enginetest.Plain, "1")})
		require.NoError(t, err)
		require.Equal(t, 4, result.Changes.Same)
		require.NoError(t, st.Close(t.Context()))
		require.Empty(t, providers(s))
	})
	t.Run("destroy", func(t *testing.T) {
		s := old(t)
		s.Destroy()
		require.Zero(t, s.Cloud.Objects())
		require.Zero(t, s.Snapshot().Len())
	})
}
