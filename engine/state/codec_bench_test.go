package state_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/statetest"
)

// thousand is the state of an ordinary program of 1,000 resources.
func thousand() *state.Snapshot {
	resources := []*state.Resource{statetest.Provider()}
	for i := range 1000 {
		r := statetest.Custom(fmt.Sprintf("resource-%d", i), resources[i].URN)
		r.Inputs = property.MapOf(map[string]property.Value{"length": property.Number(float64(i)), "prefix": property.String("web"), "separator": property.String("-")})
		r.Outputs = r.Inputs.With("id", property.String(r.ID))
		r.PropertyDependencies = map[string][]urn.URN{"length": r.Dependencies}
		r.Created, r.Modified = time.Unix(1e9, 0).UTC(), time.Unix(1e9, 0).UTC()
		r.SourcePosition = "Husk.yaml:12:3"
		resources = append(resources, r)
	}
	return state.NewSnapshot(resources...)
}

func BenchmarkEncode(b *testing.B) {
	s, codec := thousand(), state.NewCodec(statetest.B64(`{}`))
	b.ReportAllocs()
	for b.Loop() {
		_, err := codec.EncodeCheckpoint(b.Context(), s)
		require.NoError(b, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	text, err := state.NewCodec(statetest.B64(`{}`)).EncodeCheckpoint(b.Context(), thousand())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := state.Decode(b.Context(), text, statetest.OpenB64)
		require.NoError(b, err)
	}
}
