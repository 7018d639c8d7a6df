package property_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

func TestMapOrder(t *testing.T) {
	m := property.NewMap(
		property.Entry{Key: "bb", Value: Of(1)}, property.Entry{Key: "c", Value: Of(2)}, property.Entry{Key: "a", Value: Of(3)},
		property.Entry{Key: "c", Value: Of(4)}, property.Entry{Key: "", Value: Of(5)},
	)
	var keys []string
	for key := range m.All() {
		keys = append(keys, key)
	}
	require.Equal(t, []string{"", "a", "c", "bb"}, keys, "the order of deterministic CBOR")
	require.Equal(t, []string{"", "a", "bb", "c"}, m.Keys(), "the order of the alphabet")
	require.Equal(t, Of(4), m.Get("c"), "the last of equal keys is taken")
	require.Equal(t, property.Null, m.Get("x"))
	require.False(t, m.Has("x"))
}

// TestMapFindsItsKeys: in a map of any size each key is found, and none that lies between.
func TestMapFindsItsKeys(t *testing.T) {
	for size := range 50 {
		entries := make([]property.Entry, size)
		for i := range entries {
			entries[i] = property.Entry{Key: strings.Repeat("k", i/4) + string(rune('b'+2*(i%4))), Value: Of(i)}
		}
		m := property.NewMap(slices.Clone(entries)...)
		for i, e := range entries {
			v, ok := m.Lookup(e.Key)
			require.True(t, ok, "%s of %d", e.Key, size)
			require.Equal(t, Of(i), v)
			last := len(e.Key) - 1
			require.False(t, m.Has(e.Key[:last]+string(e.Key[last]-1)), "before %s of %d", e.Key, size)
			require.False(t, m.Has(e.Key[:last]+string(e.Key[last]+1)), "after %s of %d", e.Key, size)
			require.Equal(t, size+1, m.With(e.Key[:last]+string(e.Key[last]+1), Of("new")).Len())
		}
	}
}

func TestMapIsImmutable(t *testing.T) {
	m := MapOf(Object{"a": 1, "b": 2})
	changed := m.With("a", Of(3)).With("c", Of(4)).Without("b", "x")
	require.Equal(t, MapOf(Object{"a": 1, "b": 2}), m)
	require.Equal(t, MapOf(Object{"a": 3, "c": 4}), changed)
}

// TestMapOfGenerated: a Map is what Go's map of the same entries is.
func TestMapOfGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"", "a", "b", "c", "aa", "ab", "ä", "abc"})
		want := map[string]property.Value{}
		var m property.Map
		for i, key := range rapid.SliceOf(keys).Draw(t, "keys") {
			if i%3 == 2 {
				delete(want, key)
				m = m.Without(key)
			} else {
				want[key] = property.Number(float64(i))
				m = m.With(key, want[key])
			}
		}
		require.Equal(t, len(want), m.Len())
		require.True(t, property.MapOf(want).Equal(m))
		require.True(t, slices.IsSortedFunc(m.Entries(), func(a, b property.Entry) int { return property.CompareKeys(a.Key, b.Key) }))
		for key, v := range want {
			got, ok := m.Lookup(key)
			require.True(t, ok)
			require.Equal(t, v, got)
		}
	})
}
