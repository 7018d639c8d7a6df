package kv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/kv"
	"github.com/husk-dev/husk/host/kvstore"
)

func TestStore(t *testing.T) {
	_, err := kv.Get(t.Context(), "a")
	require.ErrorIs(t, err, abi.ErrDenied)

	ctx := kv.WithStore(t.Context(), kvstore.New())
	item, err := kv.Get(ctx, "a")
	require.NoError(t, err)
	require.Zero(t, item)
	first, err := kv.Put(ctx, "a", nil, 0)
	require.NoError(t, err)
	item, err = kv.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, kv.Item{Value: []byte{}, Revision: first}, item)
	_, err = kv.Put(ctx, "a", []byte("x"), 0)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	second, err := kv.Put(ctx, "a", []byte("x"), first)
	require.NoError(t, err)
	_, err = kv.Put(ctx, "b", []byte("y"), 0)
	require.NoError(t, err)
	keys, err := kv.Keys(ctx, "", "a", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, keys)
	require.NoError(t, kv.Delete(ctx, "a", second))
	keys, err = kv.Keys(ctx, "", "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, keys)
}
