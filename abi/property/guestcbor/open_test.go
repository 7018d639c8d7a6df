package guestcbor_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// FuzzOpenTrusted: a value that is decoded later is the one that is decoded at once. What
// is no valid encoding is safe to look at, and to encode again.
func FuzzOpenTrusted(f *testing.F) {
	for _, data := range []string{
		"", "\xa0", "\x80", "\xf9\x3c\x00", "\xa1\x61a\x82\xf6\xf5", "\xd9\xbd\x75\x82\x61x\xa0", "\xa2\x61b\xa0\x61a\xa0",
		"\xd9\xbd\x76\x83\xa1\x61a\x81\xf6\xf4\x81\x61u", "\xd9\xbd\x78\x83\x60\x04\xa1\x61a\xd9\xbd\x77\x83\x60\x00\x60", "\x82\x81\x80",
		"\xa1\x61a\x81\xa1\x01\xf6", "\x81\xd9\xbd\x77\x78\xff", "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", "\x81\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x81\xa1\x61a\xd9\xbd\x76\x61b", "\x82\x61a\xff", "\x81\x82\xf8\xff\x9f",
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(checkOpen)
}

func checkOpen(t *testing.T, data []byte) {
	opened, err := guestcbor.OpenTrustedValue(data)
	decoded, strictErr := guestcbor.UnmarshalValue(data)
	if strictErr != nil {
		if err == nil {
			_, _ = guestcbor.MarshalValue(property.Array(opened))
			everything := opened.Transform(func(v property.Value) property.Value { return v })
			_, _ = guestcbor.MarshalValue(property.Array(everything))
		}
		return
	}
	require.NoError(t, err)
	require.Equal(t, data, encoding(t, opened))
	require.True(t, opened.Equal(decoded), "%v and %v", opened, decoded)
	require.Equal(t, data, encoding(t, opened.Transform(func(v property.Value) property.Value { return v })))
	require.Equal(t, data, encoding(t, opened), "after somebody looked at it")
}

// TestOpenTrustedRefuses: what does not end where the input does is an error, wherever
// that is.
func TestOpenTrustedRefuses(t *testing.T) {
	for name, m := range propertytest.BenchmarkBags() {
		data := encoding(t, property.Object(m))
		step := 1 + len(data)/2000
		for n := 0; n < len(data); n += step {
			_, err := guestcbor.OpenTrusted(data[:n])
			require.ErrorIs(t, err, property.FaultTruncated, "%s: %d of %d bytes", name, n, len(data))
		}
		_, err := guestcbor.OpenTrusted(append(data, 0xf6))
		require.ErrorIs(t, err, property.FaultTrailing)
	}
	for data, want := range map[string]property.Fault{
		"\x80":                                 property.FaultType, // no object
		"\xa1\x01\xf6":                         property.FaultType, // a key that is no text
		"\xa1\x61a\x01":                        property.FaultType,
		"\xa1\x61a\xd9\xbd\x00":                property.FaultUnknownTag,
		"\xa1\x61a\xd9\xbd\x75":                property.FaultTruncated,
		"\xa1\x61a\x9f\xff":                    property.FaultMalformed,
		"\xbf\xff":                             property.FaultMalformed,
		"\xbb\xff\xff\xff\xff\xff\xff\xff\xff": property.FaultTruncated,
	} {
		_, err := guestcbor.OpenTrusted([]byte(data))
		require.ErrorIs(t, err, want, "%x", data)
	}
}

func encoding(t require.TestingT, v property.Value) []byte {
	data, err := guestcbor.MarshalValue(v)
	require.NoError(t, err)
	return data
}

// opened returns v as it is when it comes to a guest.
func opened(t require.TestingT, v property.Value) property.Value {
	o, err := guestcbor.OpenTrustedValue(encoding(t, v))
	require.NoError(t, err)
	return o
}

// TestOpened: every operation gives the same result for a value that is decoded later
// as for one that is there, whichever of two are.
func TestOpened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := propertytest.Values(4).Draw(t, "v")
		w := similar(t, v)
		for _, pair := range [][2]property.Value{{opened(t, v), opened(t, w)}, {opened(t, v), w}, {v, opened(t, w)}} {
			a, b := pair[0], pair[1]
			require.Equal(t, v.Equal(w), a.Equal(b))
			require.Equal(t, v.EqualContents(w), opened(t, v).EqualContents(b))
			require.Equal(t, changes(v, w), changes(a, b))
			for _, path := range paths(v) {
				want, ok := path.Copy(v, w)
				got, okay := path.Copy(opened(t, v), b)
				require.Equal(t, ok, okay)
				require.Equal(t, encoding(t, want), encoding(t, got))
			}
		}
		for _, path := range append(paths(v), paths(w)...) {
			requireSame(t, v, func(v property.Value) (property.Value, bool) { return path.Get(v) })
			requireSame(t, v, func(v property.Value) (property.Value, bool) { return path.Set(v, w) })
			requireSame(t, v, func(v property.Value) (property.Value, bool) { return path.Set(v, opened(t, w)) })
			requireSame(t, v, path.Delete)
		}
		requireSame(t, v, func(v property.Value) (property.Value, bool) { return v.Unwrap(), true })
		requireSame(t, v, func(v property.Value) (property.Value, bool) { return property.Secret(v), true })
		requireSame(t, v, func(v property.Value) (property.Value, bool) { return v.Plain(), v.IsUnknown() })
		require.Equal(t, v.Kind(), opened(t, v).Kind())
		require.Equal(t, property.Display(v), property.Display(opened(t, v)))
		require.Equal(t, v.ContainsSecrets(), opened(t, v).ContainsSecrets())
		require.Equal(t, v.ContainsUnknowns(), opened(t, v).ContainsUnknowns())
		require.Equal(t, v.ContainsAssets(), opened(t, v).ContainsAssets())
		require.Equal(t, v.Dependencies(), opened(t, v).Dependencies())
	})
}

// TestOpenedMap is TestOpened for the methods of maps.
func TestOpenedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := propertytest.Maps(3).Draw(t, "map")
		key := rapid.SampledFrom(append(m.Keys(), "a", "other")).Draw(t, "key")
		opens := func() property.Map {
			o, _ := opened(t, property.Object(m)).AsObject()
			return o
		}
		require.Equal(t, m.Len(), opens().Len())
		require.Equal(t, m.Keys(), opens().Keys())
		require.Equal(t, m.Has(key), opens().Has(key))
		requireMap := func(want, got property.Map) {
			require.Equal(t, encoding(t, property.Object(want)), encoding(t, property.Object(got)))
		}
		requireMap(m.With(key, property.Unknown), opens().With(key, property.Unknown))
		requireMap(m.Without(key), opens().Without(key))
		requireMap(property.NewMap(m.Entries()...), property.NewMap(opens().Entries()...))
		require.Equal(t, encoding(t, m.Get(key)), encoding(t, opens().Get(key)))
		got := opens()
		for k, v := range m.All() {
			other, ok := got.Lookup(k)
			require.True(t, ok)
			require.True(t, v.Equal(other))
		}
	})
}

// TestOpenedWithinLimits: a value that is encoded by copying is refused for the same
// reasons, at the same places.
func TestOpenedWithinLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := propertytest.Values(4).Draw(t, "value")
		around := func(v property.Value) property.Value {
			return property.Array(property.Null, property.Secret(property.Object(property.NewMap(property.Entry{Key: "a", Value: v}))))
		}
		codec := guestcbor.New(property.Limits{
			Size:  rapid.IntRange(1, 100).Draw(t, "size"),
			Depth: rapid.IntRange(1, 7).Draw(t, "depth"),
			Items: rapid.IntRange(1, 40).Draw(t, "items"),
		})
		if k := v.Kind(); k == property.KindSecret || k == property.KindOutput {
			around = func(v property.Value) property.Value { return property.Array(v) }
		}
		want, err := codec.MarshalValue(around(v))
		got, gotErr := codec.MarshalValue(around(opened(t, v)))
		require.Equal(t, err, gotErr)
		require.Equal(t, want, got)
	})
}

// TestOpenedIsShared: goroutines may look at the same value, and find the same parts.
func TestOpenedIsShared(t *testing.T) {
	for _, m := range propertytest.BenchmarkBags() {
		shared := opened(t, property.Object(m))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if !shared.Equal(property.Object(m)) {
					t.Error("it is not what it was made of")
				}
			})
		}
		all.Wait()
	}
}

// TestOpenCopiesNothing: reading an object takes no memory for what it holds.
func TestOpenCopiesNothing(t *testing.T) {
	wide := make([]property.Value, 1000)
	for i := range wide {
		wide[i] = propertytest.Of(propertytest.Object{"a": "x", "b": propertytest.Array{true, nil, 1.5}})
	}
	data := encoding(t, propertytest.Of(propertytest.Object{"name": "x", "wide": property.Array(wide...)}))
	few := testing.AllocsPerRun(10, func() {
		m, err := guestcbor.OpenTrusted(data)
		if err != nil || !m.Get("name").Equal(property.String("x")) {
			t.Error("it is not what it was made of")
		}
	})
	require.Less(t, few, 10.0)
}

// similar returns a value with much of v in it.
func similar(t *rapid.T, v property.Value) property.Value {
	path := rapid.SampledFrom(paths(v)).Draw(t, "path")
	changed, ok := path.Set(v, propertytest.Values(2).Draw(t, "part"))
	if !ok || rapid.Bool().Draw(t, "same") {
		return v
	}
	return changed
}

// paths returns those of all parts of v.
func paths(v property.Value) []property.Path {
	var all []property.Path
	_, _ = v.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
		all = append(all, path.Append())
		return v, nil
	})
	return all
}

// changes returns what Diff finds, where both are objects.
func changes(v, w property.Value) []property.Change {
	old, _ := v.AsObject()
	now, _ := w.AsObject()
	return append(property.Diff(old, now), property.DiffContents(old, now)...)
}

// requireSame holds that change does the same to v as to what is decoded later.
func requireSame(t require.TestingT, v property.Value, change func(property.Value) (property.Value, bool)) {
	want, ok := change(v)
	got, okay := change(opened(t, v))
	require.Equal(t, ok, okay)
	require.Equal(t, encoding(t, want), encoding(t, got))
}
