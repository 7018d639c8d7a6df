package cbororacle

import (
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

type vector struct {
	accept bool
	name   string
	data   []byte
	text   string // diagnostic notation, or the name of the fault
}

// readVectors reads the vectors that authors of other codecs use too.
func readVectors(t testing.TB) []vector {
	file, err := os.ReadFile("../../../abi/property/testdata/vectors.txt")
	require.NoError(t, err)
	var vectors []vector
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		require.Len(t, fields, 4, line)
		require.Contains(t, []string{"accept", "reject"}, fields[0])
		data, err := hex.DecodeString(strings.TrimSuffix(fields[2], "-"))
		require.NoError(t, err, line)
		vectors = append(vectors, vector{fields[0] == "accept", fields[1], data, fields[3]})
	}
	return vectors
}

var faultNames = map[string]property.Fault{
	"truncated":         property.FaultTruncated,
	"trailing":          property.FaultTrailing,
	"malformed":         property.FaultMalformed,
	"indefinite-length": property.FaultIndefiniteLength,
	"not-shortest":      property.FaultNotShortest,
	"type":              property.FaultType,
	"unknown-tag":       property.FaultUnknownTag,
	"tag-contents":      property.FaultTagContents,
	"duplicate-key":     property.FaultDuplicateKey,
	"key-order":         property.FaultKeyOrder,
	"invalid-utf8":      property.FaultInvalidUTF8,
	"too-deep":          property.FaultTooDeep,
}

func TestVectors(t *testing.T) {
	values := vectorValues()
	notation, err := cbor.DiagOptions{MaxNestedLevels: property.DefaultDepth}.DiagMode()
	require.NoError(t, err)
	accepted := 0
	for _, v := range readVectors(t) {
		if v.accept {
			accepted++
		}
		t.Run(v.name, func(t *testing.T) {
			fromOracle, oracleErr := UnmarshalValue(v.data)
			fromGuest, guestErr := guestcbor.UnmarshalValue(v.data)
			if !v.accept {
				require.Contains(t, faultNames, v.text)
				require.ErrorIs(t, oracleErr, faultNames[v.text])
				require.ErrorIs(t, guestErr, faultNames[v.text])
				return
			}
			require.NoError(t, oracleErr)
			require.NoError(t, guestErr)
			require.Contains(t, values, v.name)
			want := values[v.name]
			require.True(t, want.Equal(fromOracle), "%v", fromOracle)
			require.True(t, want.Equal(fromGuest), "%v", fromGuest)

			data, err := guestcbor.MarshalValue(want)
			require.NoError(t, err)
			require.Equal(t, v.data, data)

			text, err := notation.Diagnose(v.data)
			require.NoError(t, err)
			require.Equal(t, v.text, text)
		})
	}
	require.Len(t, values, accepted)
}

// vectorValues returns the values of the accepted vectors.
func vectorValues() map[string]property.Value {
	const (
		hash   = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
		bucket = "urn:pulumi:dev::shop::aws:s3/bucket:Bucket::logs"
		topic  = "urn:pulumi:dev::shop::aws:sns/topic:Topic::alerts"
	)
	var (
		null   = property.Null
		text   = property.String
		number = property.Number
		asset  = property.AssetOf
		zip    = property.ArchiveOf
	)
	object := func(m map[string]property.Value) property.Value { return property.Object(property.MapOf(m)) }
	deepest := property.Array()
	for range property.DefaultDepth - 1 {
		deepest = property.Array(deepest)
	}
	hello := asset(property.Asset{Source: property.SourceText, Text: "hello"})
	return map[string]property.Value{
		"null": null, "false": property.Bool(false), "true": property.Bool(true),

		"zero": number(0), "negative-zero": number(math.Copysign(0, -1)), "one": number(1), "one-and-a-half": number(1.5),
		"largest-half": number(65504), "above-halves": number(65536), "smallest-half": number(0x1p-24),
		"largest-subnormal-half": number(0x1.ff8p-15), "below-halves": number(0x1p-25), "between-subnormal-halves": number(0x1.4p-23),
		"single": number(-10000.125), "largest-single": number(math.MaxFloat32), "double": number(0.1),
		"2^53-1": number(1<<53 - 1), "2^53": number(1 << 53), "2^53+2": number(1<<53 + 2),
		"smallest-double": number(math.SmallestNonzeroFloat64), "infinity": number(math.Inf(1)),
		"negative-infinity": number(math.Inf(-1)), "nan": number(math.NaN()),

		"empty-text": text(""), "text": text("ü"), "text-24": text(strings.Repeat("a", 24)),
		"empty-array": property.Array(), "array": property.Array(null, property.Array()),
		"empty-object": object(nil), "object": object(map[string]property.Value{"": null, "a": null, "b": null, "aa": null}),
		"nested": object(map[string]property.Value{
			"list": property.Array(object(map[string]property.Value{"k": text("v")}), property.Bool(true)),
		}),
		"deepest-arrays": deepest,

		"unknown": property.Unknown, "secret": property.Secret(text("x")), "secret-unknown": property.Secret(property.Unknown),
		"secret-object":  property.Secret(object(map[string]property.Value{"a": property.Secret(null)})),
		"output":         property.OutputOf(property.Output{Value: text("x"), Dependencies: []string{topic, bucket}}),
		"output-unknown": property.OutputOf(property.Output{Value: property.Unknown, Secret: true}),
		"output-array":   property.OutputOf(property.Output{Value: property.Array(property.Secret(text("x")))}),

		"asset-elided": asset(property.Asset{Hash: hash}), "asset-text": hello,
		"asset-path":     asset(property.Asset{Hash: hash, Source: property.SourcePath, Path: "./a.txt"}),
		"asset-uri":      asset(property.Asset{Source: property.SourceURI, URI: "https://example.org/a"}),
		"archive-elided": zip(property.Archive{Hash: hash}),
		"archive-path":   zip(property.Archive{Source: property.SourcePath, Path: "./dir"}),
		"archive-uri":    zip(property.Archive{Source: property.SourceURI, URI: "https://example.org/a.zip"}),
		"archive-assets": zip(property.Archive{Source: property.SourceAssets, Assets: property.MapOf(map[string]property.Value{
			"a": hello, "d": zip(property.Archive{Source: property.SourceAssets}),
		})}),

		"reference":            property.Reference(property.ResourceReference{URN: bucket, HasID: true, ID: "logs-4711", PackageVersion: "6.1.0"}),
		"reference-unknown-id": property.Reference(property.ResourceReference{URN: bucket, HasID: true}),
		"reference-component":  property.Reference(property.ResourceReference{URN: bucket}),
	}
}
