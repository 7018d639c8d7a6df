package propertytest

import (
	"math"
	"strings"

	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
)

// Values generates values of every kind, nested up to the depth.
func Values(depth int) *rapid.Generator[property.Value] {
	return rapid.Custom(func(t *rapid.T) property.Value { return value(t, depth) })
}

// Maps generates maps of values nested up to the depth.
func Maps(depth int) *rapid.Generator[property.Map] {
	return rapid.Custom(func(t *rapid.T) property.Map { return object(t, depth) })
}

func value(t *rapid.T, depth int) property.Value {
	last := property.KindOutput
	if depth <= 0 {
		last = property.KindString
	}
	switch property.Kind(rapid.IntRange(0, int(last)).Draw(t, "kind")) {
	case property.KindBool:
		return property.Bool(rapid.Bool().Draw(t, "bool"))
	case property.KindNumber:
		return property.Number(Numbers().Draw(t, "number"))
	case property.KindString:
		return property.String(texts().Draw(t, "string"))
	case property.KindArray:
		return property.Array(rapid.SliceOfN(Values(depth-1), 0, 4).Draw(t, "elements")...)
	case property.KindObject:
		return property.Object(object(t, depth-1))
	case property.KindAsset:
		return property.AssetOf(asset(t))
	case property.KindArchive:
		return property.ArchiveOf(archive(t, depth-1))
	case property.KindResourceReference:
		r := property.ResourceReference{URN: texts().Draw(t, "urn"), HasID: rapid.Bool().Draw(t, "custom"), PackageVersion: texts().Draw(t, "version")}
		if r.HasID {
			r.ID = texts().Draw(t, "id")
		}
		return property.Reference(r)
	case property.KindUnknown:
		return property.Unknown
	case property.KindSecret:
		return property.Secret(value(t, depth-1))
	case property.KindOutput:
		return property.OutputOf(property.Output{
			Value:        value(t, depth-1),
			Secret:       rapid.Bool().Draw(t, "secret"),
			Dependencies: rapid.SliceOfN(texts(), 0, 3).Draw(t, "dependencies"),
		})
	default:
		return property.Null
	}
}

func object(t *rapid.T, depth int) property.Map {
	return property.MapOf(rapid.MapOfN(texts(), Values(depth), 0, 4).Draw(t, "entries"))
}

// Numbers generates numbers, among them the ones that are hard to encode.
func Numbers() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1),
			1<<53 - 1, 1 << 53, 1<<53 + 2, -(1<<53 - 1), -(1<<53 + 2),
			65504, 65505, 65536, 0x1p-14, 0x1p-24, 0x1p-25, 0x1.8p-24, // around the halves
			math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-149,
			math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 1.5, 3.25,
		}),
		rapid.Float64(),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Float32().Draw(t, "single")) }),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int32().Draw(t, "integer")) }),
	)
}

// texts generates texts, some of them at the lengths where a head grows.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "b", "aa", "*", "a.b", `"`, "\x00", "\u202e", "日本語", "😀"}),
		rapid.StringN(0, 8, -1),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("x", rapid.SampledFrom([]int{23, 24, 255, 256}).Draw(t, "length"))
		}),
	)
}

func asset(t *rapid.T) property.Asset {
	a := property.Asset{Hash: texts().Draw(t, "hash"), Source: property.AssetSource(rapid.IntRange(0, 3).Draw(t, "source"))}
	switch a.Source {
	case property.SourceText:
		a.Text = texts().Draw(t, "text")
	case property.SourcePath:
		a.Path = texts().Draw(t, "path")
	case property.SourceURI:
		a.URI = texts().Draw(t, "uri")
	}
	return a
}

func archive(t *rapid.T, depth int) property.Archive {
	sources := []property.AssetSource{property.SourceNone, property.SourcePath, property.SourceURI, property.SourceAssets}
	a := property.Archive{Hash: texts().Draw(t, "hash"), Source: rapid.SampledFrom(sources).Draw(t, "source")}
	switch a.Source {
	case property.SourcePath:
		a.Path = texts().Draw(t, "path")
	case property.SourceURI:
		a.URI = texts().Draw(t, "uri")
	case property.SourceAssets:
		a.Assets = property.MapOf(rapid.MapOfN(texts(), rapid.Custom(func(t *rapid.T) property.Value {
			if depth > 0 && rapid.Bool().Draw(t, "nested") {
				return property.ArchiveOf(archive(t, depth-1))
			}
			return property.AssetOf(asset(t))
		}), 0, 3).Draw(t, "members"))
	}
	return a
}
