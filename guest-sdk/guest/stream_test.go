package guest_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type countArgs struct {
	To int `husk:"to"`
}

type countResult struct {
	N int `husk:"n"`
}

// counter is a provider that counts, and remembers how far it came.
type counter struct {
	abi.Provider
	computed, ended int
}

func newCounter(t *testing.T) *counter {
	c := &counter{}
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Streams: []guest.Stream{
		guest.StreamOf("p:index:count", func(ctx context.Context, args countArgs) iter.Seq2[countResult, error] {
			return func(yield func(countResult, error) bool) {
				defer func() { c.ended++ }()
				for i := range args.To {
					if err := ctx.Err(); err != nil {
						yield(countResult{}, err)
						return
					}
					c.computed++
					if !yield(countResult{i}, nil) {
						return
					}
				}
			}
		}),
	}})
	require.NoError(t, err)
	c.Provider = p
	return c
}

func (c *counter) begin(t *testing.T, args any) abi.StreamHandle {
	handle, err := c.StreamInvoke(t.Context(), abi.InvokeRequest{Token: "p:index:count", Args: obj("to", args)})
	require.NoError(t, err)
	return handle
}

func (c *counter) next(t *testing.T, handle abi.StreamHandle) abi.StreamItem {
	item, err := c.StreamNext(t.Context(), handle)
	require.NoError(t, err)
	return item
}

func TestStreamComputesWhatIsAskedFor(t *testing.T) {
	c := newCounter(t)
	handle := c.begin(t, 2)
	require.Zero(t, c.computed)
	requireMap(t, obj("n", 0), *c.next(t, handle).Result)
	require.Equal(t, 1, c.computed)
	requireMap(t, obj("n", 1), *c.next(t, handle).Result)
	require.Nil(t, c.next(t, handle).Result, "the end")
	require.Equal(t, 1, c.ended)
	_, err := c.StreamNext(t.Context(), handle)
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.NoError(t, c.StreamClose(t.Context(), handle), "closing one that ended does nothing")
}

func TestStreamEndsWhenClosed(t *testing.T) {
	c := newCounter(t)
	handle, other := c.begin(t, 5), c.begin(t, 5)
	c.next(t, handle)
	require.NoError(t, c.StreamClose(t.Context(), handle))
	require.Equal(t, 1, c.ended, "the author's function can clean up")
	_, err := c.StreamNext(t.Context(), handle)
	require.ErrorIs(t, err, abi.ErrNotFound)
	requireMap(t, obj("n", 0), *c.next(t, other).Result, "streams do not know of each other")
}

func TestStreamOfSecrets(t *testing.T) {
	c := newCounter(t)
	requireMap(t, obj("n", secret(0)), *c.next(t, c.begin(t, secret(1))).Result)
}

func TestStreamIsCancelled(t *testing.T) {
	c := newCounter(t)
	ctx, cancel := context.WithCancel(t.Context())
	handle, err := c.StreamInvoke(ctx, abi.InvokeRequest{Token: "p:index:count", Args: obj("to", 5)})
	require.NoError(t, err)
	cancel()
	requireMap(t, obj("n", 0), *c.next(t, handle).Result, "the call that began the stream is over")

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.StreamNext(ctx, handle)
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.Equal(t, 1, c.ended)
}

func TestStreamRefuses(t *testing.T) {
	c := newCounter(t)
	begin := func(token string, args any) error {
		_, err := c.StreamInvoke(t.Context(), abi.InvokeRequest{Token: token, Args: obj("to", args)})
		return err
	}
	require.ErrorContains(t, begin("p:index:cuont", 1), "did you mean p:count?")
	require.ErrorContains(t, begin("p:index:count", "x"), "to: expected integer, got string")
	_, err := c.Invoke(t.Context(), abi.InvokeRequest{Token: "p:index:count", Args: obj("to", 1)})
	require.ErrorIs(t, err, abi.ErrNotFound, "a stream is no function that answers once")

	first := c.begin(t, 1)
	for err = nil; err == nil; {
		err = begin("p:index:count", 1)
	}
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "64 streams are open already")
	require.NoError(t, c.StreamClose(t.Context(), first))
	require.NoError(t, begin("p:index:count", 1))
}

func TestNoStreams(t *testing.T) {
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0"})
	require.NoError(t, err)
	_, err = p.StreamInvoke(t.Context(), abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
	_, err = p.Construct(t.Context(), abi.ConstructRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
	_, err = p.Call(t.Context(), abi.CallRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}
