package guestcbor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// Package cbororacle has the tests that compare this codec with the oracle, and the test vectors.

// FuzzDecode: an input that is accepted is the encoding of its value.
func FuzzDecode(f *testing.F) {
	for _, data := range []string{"", "\xa0", "\xf9\x3c\x00", "\xa1\x61a\x82\xf6\xf5", "\xd9\xbd\x75\x61x", "\xd9\xbd\x76\x83\xf6\xf4\x81\x61u"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := guestcbor.UnmarshalValue(data)
		if err != nil {
			return
		}
		again, err := guestcbor.MarshalValue(v)
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}

// TestHalves: every half-precision float is a number of one encoding, but for the
// NaNs that are not the canonical one.
func TestHalves(t *testing.T) {
	for bits := range 1 << 16 {
		data := []byte{0xf9, byte(bits >> 8), byte(bits)}
		v, err := guestcbor.UnmarshalValue(data)
		if bits&0x7c00 == 0x7c00 && bits&0x3ff != 0 && bits != 0x7e00 {
			require.ErrorIs(t, err, property.FaultNotShortest, "%x", bits)
			continue
		}
		require.NoError(t, err)
		again, err := guestcbor.MarshalValue(v)
		require.NoError(t, err)
		require.Equal(t, data, again)
	}
}

// TestNumberIsShortest: a number is encoded in as few bytes as hold it.
func TestNumberIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := propertytest.Numbers().Draw(t, "number")
		data, err := guestcbor.MarshalValue(property.Number(f))
		require.NoError(t, err)
		if float64(float32(f)) == f || f != f {
			require.LessOrEqual(t, len(data), 5)
		}
		if f == math.Trunc(f) && math.Abs(f) <= 2048 { // halves have 11 bits
			require.Len(t, data, 3)
		}
	})
}

func TestStringsShareTheInput(t *testing.T) {
	data := []byte("\xa1\x63key\x65value")
	m, err := guestcbor.Unmarshal(data)
	require.NoError(t, err)
	copy(data[5:], "\x65other")
	require.Equal(t, property.String("other"), m.Get("key"))
}
