package property_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

func asset(a property.Asset) property.Value     { return property.AssetOf(a) }
func archive(a property.Archive) property.Value { return property.ArchiveOf(a) }

func TestEqual(t *testing.T) {
	const same, contents, different = "same", "same contents", "different"
	reference := property.ResourceReference{URN: "u", HasID: true, ID: "i", PackageVersion: "1.0.0"}
	component := property.ResourceReference{URN: "u"}
	otherVersion, otherID, withoutID := reference, reference, component
	otherVersion.PackageVersion, otherID.ID, withoutID.ID = "2.0.0", "j", "no meaning"
	for _, test := range []struct {
		name string
		a, b any
		want string
	}{
		{"null", nil, nil, same},
		{"null and false", nil, false, different},
		{"bools", true, false, different},
		{"numbers", 1, 1.0, same},
		{"NaN", math.NaN(), math.NaN(), same},
		{"zeros", 0.0, math.Copysign(0, -1), same},
		{"number and text", 1, "1", different},
		{"texts", "a", "b", different},
		{"unknowns", property.Unknown, property.Unknown, same},
		{"unknown and null", property.Unknown, nil, different},

		{"arrays", Array{1, Array{"x"}}, Array{1, Array{"x"}}, same},
		{"arrays of other length", Array{1}, Array{1, nil}, different},
		{"arrays in another order", Array{1, 2}, Array{2, 1}, different},
		{"objects", Object{"a": 1, "b": Object{}}, Object{"b": Object{}, "a": 1}, same},
		{"objects with other keys", Object{"a": 1}, Object{"b": 1}, different},
		{"null and absent property", Object{"a": nil}, Object{"b": nil}, same},
		{"empty object and null", Object{}, nil, different},

		{"secrets", Secret("x"), Secret("x"), same},
		{"secrets that differ", Secret("x"), Secret("y"), different},
		{"secret and plain", Secret("x"), "x", contents},
		{"secret inside", Object{"a": Array{Secret("x")}}, Object{"a": Array{"x"}}, contents},
		{"secret null and absent", Object{"a": Secret(nil)}, Object{}, contents},
		{"outputs", Output("x", "b", "a", "b"), Output("x", "a", "b"), same},
		{"outputs of other resources", Output("x", "a"), Output("x", "b"), contents},
		{"secret output", property.Secret(Output("x", "a")), Output("x", "a"), contents},
		{"output and secret", Output("x", "a"), Secret("x"), contents},

		{"assets by hash", asset(property.Asset{Hash: "h", Source: property.SourceText, Text: "x"}), asset(property.Asset{Hash: "h"}), same},
		{"assets by other hash", asset(property.Asset{Hash: "h", Source: property.SourcePath, Path: "p"}), asset(property.Asset{Hash: "i", Source: property.SourcePath, Path: "p"}), different},
		{"assets without hash", asset(property.Asset{Source: property.SourceText, Text: "x"}), asset(property.Asset{Source: property.SourceText, Text: "x"}), same},
		{"assets by text", asset(property.Asset{Source: property.SourceText, Text: "x"}), asset(property.Asset{Source: property.SourceText, Text: "y"}), different},
		{"assets by path", asset(property.Asset{Source: property.SourcePath, Path: "x"}), asset(property.Asset{Source: property.SourcePath, Path: "y"}), different},
		{"assets by URI", asset(property.Asset{Source: property.SourceURI, URI: "x"}), asset(property.Asset{Source: property.SourceURI, URI: "y"}), different},
		{"asset with and without hash", asset(property.Asset{Hash: "h", Source: property.SourcePath, Path: "p"}), asset(property.Asset{Source: property.SourcePath, Path: "p"}), different},
		{"asset and archive", asset(property.Asset{Hash: "h"}), archive(property.Archive{Hash: "h"}), different},
		{"archives by hash", archive(property.Archive{Hash: "h", Source: property.SourceURI, URI: "x"}), archive(property.Archive{Hash: "h"}), same},
		{"archives by path", archive(property.Archive{Source: property.SourcePath, Path: "x"}), archive(property.Archive{Source: property.SourcePath, Path: "y"}), different},
		{"archives by URI", archive(property.Archive{Source: property.SourceURI, URI: "x"}), archive(property.Archive{Source: property.SourceURI, URI: "x"}), same},
		{"archives by members", archive(property.Archive{Source: property.SourceAssets}),
			archive(property.Archive{Source: property.SourceAssets, Assets: MapOf(Object{"a": asset(property.Asset{})})}), different},

		{"references", property.Reference(reference), property.Reference(otherVersion), same},
		{"references to other IDs", property.Reference(reference), property.Reference(otherID), different},
		{"reference to a component", property.Reference(reference), property.Reference(component), different},
		{"references to components", property.Reference(component), property.Reference(withoutID), same},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, pair := range [][2]property.Value{{Of(test.a), Of(test.b)}, {Of(test.b), Of(test.a)}} {
				require.Equal(t, test.want == same, pair[0].Equal(pair[1]))
				require.Equal(t, test.want != different, pair[0].EqualContents(pair[1]))
			}
		})
	}
}

// TestEqualOfGenerated: a value equals itself, and has the contents of its
// unwrapped self.
func TestEqualOfGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Values(4).Draw(t, "value")
		require.True(t, v.Equal(v))
		require.True(t, v.EqualContents(v.Unwrap()))
		if v.ContainsSecrets() {
			require.False(t, v.Equal(v.Unwrap()))
		}
	})
}
