package property_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

// TestAs: a value is read as what it is, and as nothing else.
func TestAs(t *testing.T) {
	reference := property.ResourceReference{URN: "u"}
	for _, v := range []property.Value{
		property.Null, Of(false), Of(0), Of(""), Of(Array{}), Of(Object{}), asset(property.Asset{}),
		archive(property.Archive{}), property.Reference(reference), property.Unknown, Secret("x"), Output("x"),
	} {
		t.Run(v.Kind().String(), func(t *testing.T) {
			requireKind := func(kind property.Kind, ok bool) {
				t.Helper()
				require.Equal(t, v.Kind() == kind, ok)
			}
			_, ok := v.AsBool()
			requireKind(property.KindBool, ok)
			_, ok = v.AsNumber()
			requireKind(property.KindNumber, ok)
			_, ok = v.AsString()
			requireKind(property.KindString, ok)
			_, ok = v.AsArray()
			requireKind(property.KindArray, ok)
			_, ok = v.AsObject()
			requireKind(property.KindObject, ok)
			_, ok = v.AsAsset()
			requireKind(property.KindAsset, ok)
			_, ok = v.AsArchive()
			requireKind(property.KindArchive, ok)
			_, ok = v.AsReference()
			requireKind(property.KindResourceReference, ok)
			_, ok = v.AsSecret()
			requireKind(property.KindSecret, ok)
			_, ok = v.AsOutput()
			requireKind(property.KindOutput, ok)
			requireKind(property.KindNull, v.IsNull())
			requireKind(property.KindUnknown, v.IsUnknown())
			requireKind(property.KindSecret, v.IsSecret())
		})
	}
	require.Equal(t, "invalid", property.Kind(99).String())
}

func TestPlain(t *testing.T) {
	require.Equal(t, Of("x"), Secret("x").Plain())
	require.Equal(t, Of("x"), property.Secret(Output("x", "u")).Plain())
	require.Equal(t, Of(Array{Secret("x")}), Output(Array{Secret("x")}).Plain(), "wrappers inside stay")
}

func TestIsInteger(t *testing.T) {
	for _, f := range []float64{0, -1, 1 << 53, -(1 << 53)} {
		require.True(t, Of(f).IsInteger(), "%v", f)
	}
	for _, f := range []float64{0.5, 1<<53 + 2, math.NaN(), math.Inf(1)} {
		require.False(t, Of(f).IsInteger(), "%v", f)
	}
	require.False(t, Of("1").IsInteger())
}
