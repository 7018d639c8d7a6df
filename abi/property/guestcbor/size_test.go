package guestcbor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// requireSize: the size is the length of the encoding, and there is one where there is the other.
func requireSize(t require.TestingT, codec guestcbor.Codec, m property.Map) {
	data, err := codec.Marshal(m)
	size, ok := codec.Size(m)
	require.Equal(t, err == nil, ok, "%v: %v", m, err)
	require.Equal(t, len(data), size, "%v", m)
}

func TestSizeIsThatOfTheEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := propertytest.Maps(4).Draw(t, "map")
		requireSize(t, guestcbor.Codec{}, m)
		requireSize(t, guestcbor.New(property.Limits{
			Size:  rapid.IntRange(1, 300).Draw(t, "size"),
			Depth: rapid.IntRange(1, 6).Draw(t, "depth"),
			Items: rapid.IntRange(1, 60).Draw(t, "items"),
		}), m)
		data, err := guestcbor.Marshal(m)
		require.NoError(t, err)
		opened, err := guestcbor.OpenTrusted(data)
		require.NoError(t, err)
		requireSize(t, guestcbor.Codec{}, opened)
	})
	for _, m := range propertytest.BenchmarkBags() {
		requireSize(t, guestcbor.Codec{}, m)
	}
}

func TestSizeOfLongTextsAndLists(t *testing.T) {
	for _, n := range []int{23, 24, 255, 256, 65535, 65536} {
		requireSize(t, guestcbor.Codec{}, property.NewMap(
			property.Entry{Key: strings.Repeat("k", n), Value: property.String(strings.Repeat("v", n))},
			property.Entry{Key: "list", Value: property.Array(make([]property.Value, n)...)},
		))
	}
}

func TestWhatHasNoEncodingHasNoSize(t *testing.T) {
	const noText = "\xff"
	for name, v := range map[string]property.Value{
		"text":                 property.String(noText),
		"in a list":            property.Array(property.String(noText)),
		"in a secret":          property.Secret(property.String(noText)),
		"in an output":         property.OutputOf(property.Output{Value: property.String(noText)}),
		"dependency":           property.OutputOf(property.Output{Dependencies: []string{noText}}),
		"key":                  property.Object(property.NewMap(property.Entry{Key: noText})),
		"hash":                 property.AssetOf(property.Asset{Hash: noText}),
		"text of an asset":     property.AssetOf(property.Asset{Source: property.SourceText, Text: noText}),
		"path":                 property.AssetOf(property.Asset{Source: property.SourcePath, Path: noText}),
		"URI":                  property.AssetOf(property.Asset{Source: property.SourceURI, URI: noText}),
		"asset of assets":      property.AssetOf(property.Asset{Source: property.SourceAssets}),
		"archive of a text":    property.ArchiveOf(property.Archive{Source: property.SourceText}),
		"path of an archive":   property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: noText}),
		"URI of an archive":    property.ArchiveOf(property.Archive{Source: property.SourceURI, URI: noText}),
		"member":               property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(property.Entry{Key: "m"})}),
		"name of a member":     property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(property.Entry{Key: noText, Value: property.AssetOf(property.Asset{})})}),
		"URN":                  property.Reference(property.ResourceReference{URN: noText}),
		"ID":                   property.Reference(property.ResourceReference{HasID: true, ID: noText}),
		"version of a package": property.Reference(property.ResourceReference{PackageVersion: noText}),
	} {
		t.Run(name, func(t *testing.T) {
			m := property.NewMap(property.Entry{Key: "p", Value: v})
			_, ok := guestcbor.Size(m)
			require.False(t, ok)
			requireSize(t, guestcbor.Codec{}, m)
		})
	}
}

func BenchmarkSize(b *testing.B) {
	for name, m := range propertytest.BenchmarkBags() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := guestcbor.Size(m); !ok {
					b.Fatal("no size")
				}
			}
		})
	}
}
