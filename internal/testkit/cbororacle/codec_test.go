package cbororacle

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// smallLimits are exceeded by generated inputs often enough to be tested.
var smallLimits = property.Limits{Size: 200, Depth: 3, Items: 20}

// FuzzDecode holds the two codecs to the same answer on every input: both refuse
// it for the same reason, or both give the same value, whose encoding it is.
func FuzzDecode(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, property.Limits{}, data)
		checkDecode(t, smallLimits, data)
	})
}

type fataler interface {
	Errorf(format string, args ...any)
	FailNow()
}

func checkDecode(t fataler, limits property.Limits, data []byte) {
	oracle, guest := New(limits), guestcbor.New(limits)
	fromOracle, oracleErr := oracle.UnmarshalValue(data)
	fromGuest, guestErr := guest.UnmarshalValue(data)
	require.Equal(t, guestErr, oracleErr)
	if guestErr != nil {
		var decodeErr *property.DecodeError
		require.ErrorAs(t, guestErr, &decodeErr)
		require.LessOrEqual(t, decodeErr.Offset, len(data))
		return
	}
	require.True(t, fromGuest.Equal(fromOracle), "%v and %v", fromGuest, fromOracle)
	again, err := guest.MarshalValue(fromOracle)
	require.NoError(t, err)
	require.Equal(t, data, again)
}

// TestRoundTrip: generated values have one encoding, which decodes to them.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := propertytest.Values(5).Draw(t, "value")
		data, err := guestcbor.MarshalValue(v)
		require.NoError(t, err)
		decoded, err := UnmarshalValue(data)
		require.NoError(t, err)
		require.True(t, v.Equal(decoded), "%v and %v", v, decoded)
		checkDecode(t, property.Limits{}, data)
	})
}

// TestEncodeLimits: the codec encodes what both decode within the limits, and refuses nothing else.
func TestEncodeLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := propertytest.Values(5).Draw(t, "value")
		limits := property.Limits{
			Size:  rapid.IntRange(1, 100).Draw(t, "size"),
			Depth: rapid.IntRange(1, 5).Draw(t, "depth"),
			Items: rapid.IntRange(1, 30).Draw(t, "items"),
		}
		data, err := guestcbor.New(limits).MarshalValue(v)
		unlimited, failed := guestcbor.MarshalValue(v)
		require.NoError(t, failed)
		checkDecode(t, limits, unlimited)
		_, refused := New(limits).UnmarshalValue(unlimited)
		if err == nil {
			require.NoError(t, refused)
			require.Equal(t, unlimited, data)
			return
		}
		require.Error(t, refused)
		var encodeErr *property.EncodeError
		require.ErrorAs(t, err, &encodeErr)
	})
}

// TestMutations: one changed byte of an encoding gives both codecs the same answer.
func TestMutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := propertytest.Values(4).Draw(t, "value")
		data, err := guestcbor.MarshalValue(v)
		require.NoError(t, err)
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data[at] = rapid.Byte().Draw(t, "byte")
		checkDecode(t, property.Limits{}, data)
		checkDecode(t, property.Limits{}, data[:at])
	})
}
