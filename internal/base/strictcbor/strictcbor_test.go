package strictcbor

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

type record struct {
	Name  string
	Parts []int
	Sums  map[string]string
}

// One value has one encoding.
func TestEncodingIsDeterministic(t *testing.T) {
	value := record{Name: "a", Parts: []int{1}, Sums: map[string]string{"b": "1", "a": "2", "aa": "3"}}
	first, err := Marshal(value)
	require.NoError(t, err)
	for range 20 {
		again, err := Marshal(value)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	var back record
	require.NoError(t, Unmarshal(first, &back))
	require.Equal(t, value, back)
	rest, err := UnmarshalFirst(append(first, "more"...), &back)
	require.NoError(t, err)
	require.Equal(t, "more", string(rest))
}

// What has another form than Marshal writes is refused.
func TestDecodingIsStrict(t *testing.T) {
	for what, text := range map[string]string{
		"nothing":            "",
		"something behind":   "a1644e616d65616100",
		"an unknown field":   "a1654f746865726161",
		"a field twice":      "a2644e616d656161644e616d656162",
		"of no known length": "a1644e616d657f6161ff",
		"a tag":              "a1644e616d65c06161",
		"text that is none":  "a1644e616d6561ff",
		"a long array":       "a16550617274739a00200000",
		"cut off":            "a1644e616d65",
	} {
		encoded, err := hex.DecodeString(text)
		require.NoError(t, err, what)
		require.Error(t, Unmarshal(encoded, &record{}), what)
	}
	deep := []byte{0x80}
	for range 2 * maxNesting {
		deep = append([]byte{0x81}, deep...)
	}
	var value any
	require.ErrorContains(t, Unmarshal(deep, &value), "max nested level")
}
