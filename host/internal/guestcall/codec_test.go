package guestcall

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

func begunCodec(idle *Buffers) Codec {
	c := Codec{Most: 1000, Call: &CallBuffers{}, Pass: func(uint64) error { return nil }}
	c.Call.Begin(idle)
	return c
}

// TestCodecKeepsEncodings: what a call has encoded stays as it is while it encodes more,
// whatever other calls do with the buffers of those that have ended.
func TestCodecKeepsEncodings(t *testing.T) {
	var idle Buffers
	maps := []property.Map{
		propertytest.MapOf(propertytest.Object{"a": 1}),
		propertytest.MapOf(propertytest.Object{"b": propertytest.Array{"text", nil}}),
		{},
	}
	for range 3 {
		one, other := begunCodec(&idle), begunCodec(&idle)
		var encodings [][]byte
		for _, m := range append(maps, maps...) {
			_, err := other.MarshalValue(property.String("something else"))
			require.NoError(t, err)
			data, err := one.Marshal(m)
			require.NoError(t, err)
			encodings = append(encodings, data)
		}
		for i, data := range encodings {
			want, err := guestcbor.Marshal(maps[i%len(maps)])
			require.NoError(t, err)
			require.Equal(t, want, data)
		}
		one.Call.End(&idle)
		other.Call.End(&idle)
	}
}

// TestCodecAnswersWhatWasSent: an answer that is what was asked is the same map; any
// other is decoded, and keeps nothing of the memory that it came from.
func TestCodecAnswersWhatWasSent(t *testing.T) {
	var idle Buffers
	c := begunCodec(&idle)
	sent := propertytest.MapOf(propertytest.Object{"a": propertytest.Array{1, "x"}})
	data, err := c.Marshal(sent)
	require.NoError(t, err)
	same, err := c.Unmarshal(append([]byte(nil), data...))
	require.NoError(t, err)
	require.True(t, same.Is(sent))

	answer, err := guestcbor.Marshal(sent.With("b", property.String("new")))
	require.NoError(t, err)
	other, err := c.Unmarshal(answer)
	require.NoError(t, err)
	clear(answer)
	require.False(t, other.Is(sent))
	require.True(t, other.Equal(sent.With("b", property.String("new"))))

	c.Call.End(&idle)
	c.Call.Begin(&idle)
	data, err = guestcbor.Marshal(sent)
	require.NoError(t, err)
	again, err := c.Unmarshal(data)
	require.NoError(t, err)
	require.False(t, again.Is(sent), "a call does not see what another one sent")
	require.True(t, again.Equal(sent))
}

// TestCodecBounds: each map counts and is bounded, also one that was encoded before.
func TestCodecBounds(t *testing.T) {
	c := begunCodec(&Buffers{})
	m := propertytest.MapOf(propertytest.Object{"a": "x"})
	for range 2 {
		_, err := c.Marshal(m)
		require.NoError(t, err)
	}
	require.EqualValues(t, 10, c.Call.In.Load())
	c.Most = 4
	_, err := c.Marshal(m)
	var exceeded *limit.ExceededError
	require.ErrorAs(t, err, &exceeded)
}
