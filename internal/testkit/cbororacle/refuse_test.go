package cbororacle

import (
	"bytes"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// codec is what both codecs do.
type codec interface {
	Unmarshal([]byte) (property.Map, error)
	UnmarshalValue([]byte) (property.Value, error)
}

// bothCodecs runs a test with each codec.
func bothCodecs(t *testing.T, limits property.Limits, test func(*testing.T, codec)) {
	t.Run("oracle", func(t *testing.T) { test(t, New(limits)) })
	t.Run("guest", func(t *testing.T) { test(t, guestcbor.New(limits)) })
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits property.Limits
		data   string
		err    string
	}{
		{"offset of a key", property.Limits{}, "\xa3\x61a\xf6\x61b\xf6\x61a\xf6", "cannot decode properties: byte 7: key out of order (shorter keys first, then bytewise)"},
		{"offset of a value", property.Limits{}, "\xa1\x61a\x18\x20", "cannot decode properties: byte 3: not a property value of an allowed type"},
		{"end of the input", property.Limits{}, "\xa1\x61a", "cannot decode properties: byte 3: the input ends inside a value"},
		{"an array is no map", property.Limits{}, "\x80", "cannot decode properties: byte 0: not a property value of an allowed type"},
		{"size", property.Limits{Size: 3}, "\xa1\x61a\xf6", "cannot decode properties: byte 3: encoding is too large (the limit is 3)"},
		{"depth", property.Limits{Depth: 2}, "\xa1\x61a\x81\x80", "cannot decode properties: byte 4: values are nested too deep (the limit is 2)"},
		{"items", property.Limits{Items: 5}, "\xa1\x61a\x83\xf6\xf6\xf6", "cannot decode properties: byte 3: too many data items (the limit is 5)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bothCodecs(t, test.limits, func(t *testing.T, c codec) {
				_, err := c.Unmarshal([]byte(test.data))
				require.EqualError(t, err, test.err)
			})
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	text := property.AssetOf(property.Asset{Source: property.SourceText})
	for _, test := range []struct {
		name   string
		limits property.Limits
		value  property.Value
		err    string
	}{
		{"text", property.Limits{}, property.Array(property.Null, property.Secret(property.String("\xff"))),
			"cannot encode properties: a[1]: text is not valid UTF-8"},
		{"key", property.Limits{}, property.Object(property.NewMap(property.Entry{Key: "b\xff"})),
			"cannot encode properties: a[\"b\uFFFD\"]: text is not valid UTF-8"},
		{"member of an archive", property.Limits{},
			property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(
				property.Entry{Key: "good", Value: text}, property.Entry{Key: "wrong", Value: property.Secret(text)})}),
			"cannot encode properties: a.wrong: the contents do not fit the tag"},
		{"source of an asset", property.Limits{}, property.AssetOf(property.Asset{Source: property.SourceAssets}),
			"cannot encode properties: a: the contents do not fit the tag"},
		{"source of an archive", property.Limits{}, property.ArchiveOf(property.Archive{Source: property.SourceText}),
			"cannot encode properties: a: the contents do not fit the tag"},
		{"size", property.Limits{Size: 10}, property.String("more than this"),
			"cannot encode properties: encoding is too large (the limit is 10)"},
		{"depth", property.Limits{Depth: 2}, property.Secret(property.Array()),
			"cannot encode properties: a: values are nested too deep (the limit is 2)"},
		{"items", property.Limits{Items: 3}, property.Unknown,
			"cannot encode properties: too many data items (the limit is 3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := []byte("before")
			after, err := guestcbor.New(test.limits).Append(before, property.NewMap(property.Entry{Key: "a", Value: test.value}))
			require.EqualError(t, err, test.err)
			require.Equal(t, before, after)
		})
	}
}

func TestAppend(t *testing.T) {
	data, err := guestcbor.New(property.Limits{}).Append([]byte("before"), property.Map{})
	require.NoError(t, err)
	require.Equal(t, "before\xa0", string(data))
}

// TestHostileMemory: what a decoder allocates is in proportion to the input,
// whatever the heads in it announce.
func TestHostileMemory(t *testing.T) {
	// Per byte of input: an element of an array takes a Value of 48 bytes, an empty
	// array in it 24 more. The general library takes several times as much.
	bytesPerByte := map[string]int{"guest": 80, "oracle": 600}
	const constant = 64 << 10
	inputs := map[string][]byte{
		"announced array":     []byte("\x9a\x00\x0f\xff\xff"),
		"announced object":    []byte("\xba\x00\x07\xff\xff"),
		"announced arrays":    bytes.Repeat([]byte("\x99\x27\x10"), 100),
		"announced in arrays": append(bytes.Repeat([]byte("\x99\x27\x10"), 100), make([]byte, 10000)...),
		"arrays":              append([]byte("\x99\x27\x10"), bytes.Repeat([]byte("\x80"), 10000)...),
		"objects":             append([]byte("\x99\x27\x10"), bytes.Repeat([]byte("\xa0"), 10000)...),
		"nulls":               append([]byte("\x99\x27\x10"), bytes.Repeat([]byte("\xf6"), 10000)...),
		"cut off":             append([]byte("\x99\xff\xff"), bytes.Repeat([]byte("\x84\xf6\xf6\xf6\xf6"), 8000)...),
		"nested":              bytes.Repeat([]byte("\x81"), 20000),
		"tags":                bytes.Repeat([]byte("\xd9\xbd\x75"), 10000),
		"text":                []byte("\x79\x80\x00" + strings.Repeat("x", 1<<15)),
	}
	for name, data := range inputs {
		t.Run(name, func(t *testing.T) {
			bothCodecs(t, property.Limits{}, func(t *testing.T, c codec) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, _ = c.UnmarshalValue(data)
				runtime.ReadMemStats(&after)
				limit := constant + bytesPerByte[path.Base(t.Name())]*len(data)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(limit))
			})
		})
	}
}
