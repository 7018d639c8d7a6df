package checkedcbor_test

import (
	"bytes"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/checkedcbor"
)

type record struct {
	Name  string            `cbor:"name"`
	Items map[string][]byte `cbor:"items"`
}

var sample = record{Name: "a", Items: map[string][]byte{"z": {1}, "aa": {}, "b": {2, 3}}}

func TestRecordsSurvive(t *testing.T) {
	data, err := checkedcbor.Marshal(sample)
	require.NoError(t, err)
	var back record
	require.NoError(t, checkedcbor.Unmarshal(data, &back))
	require.Equal(t, sample, back)
	require.NoError(t, cbor.Wellformed(data), "any reader of CBOR reads the file")
}

func TestSameRecordSameBytes(t *testing.T) {
	first, err := checkedcbor.Marshal(sample)
	require.NoError(t, err)
	for range 20 {
		again, err := checkedcbor.Marshal(sample)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

func TestDamageIsAnError(t *testing.T) {
	data, err := checkedcbor.Marshal(sample)
	require.NoError(t, err)
	var back record
	for bit := range 8 * len(data) {
		altered := bytes.Clone(data)
		altered[bit/8] ^= 1 << (bit % 8)
		require.EqualError(t, checkedcbor.Unmarshal(altered, &back), "its checksum does not match")
	}
	for size := range data {
		require.Error(t, checkedcbor.Unmarshal(data[:size], &back))
	}
	require.Error(t, checkedcbor.Unmarshal(append(data, 0xf6), &back))
}

func TestUnknownMembersAreAnError(t *testing.T) {
	data, err := checkedcbor.Marshal(map[string]any{"name": "a", "other": 1})
	require.NoError(t, err)
	require.Error(t, checkedcbor.Unmarshal(data, &record{}))
}

// Whatever a record with a checksum holds, it is an error, or decodes to what its encoding decodes to.
func FuzzUnmarshal(f *testing.F) {
	plain, err := cbor.Marshal(sample)
	require.NoError(f, err)
	f.Add(plain)
	f.Add([]byte("\xa1\x65items\xbf\xff"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		data, err := checkedcbor.Marshal(cbor.RawMessage(plain))
		if err != nil {
			return
		}
		var r, again record
		if checkedcbor.Unmarshal(data, &r) != nil {
			return
		}
		encoded, err := checkedcbor.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, checkedcbor.Unmarshal(encoded, &again))
		require.Equal(t, r, again)
	})
}
