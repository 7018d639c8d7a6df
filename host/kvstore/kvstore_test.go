package kvstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
)

func bytesOf(text string) *[]byte {
	value := []byte(text)
	return &value
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "kv.cbor")
	onDisk, err := Open(path)
	require.NoError(t, err)
	for name, store := range map[string]*Store{"in memory": New(), "on disk": onDisk} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			other := capability.NewKV(store, "urn:pulumi:dev::demo::pulumi:providers:lab::other", nil, nil)
			_, err := other.Put(ctx, "a", bytesOf("of another configuration"), 0)
			require.NoError(t, err)
			k := capability.NewKV(store, "urn:pulumi:dev::demo::pulumi:providers:lab::default_1_0_0", nil, nil)
			item, err := k.Get(ctx, "a")
			require.NoError(t, err)
			require.Zero(t, item)
			first, err := k.Put(ctx, "a", bytesOf("one"), 0)
			require.NoError(t, err)
			item, err = k.Get(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, abi.KVItem{Value: bytesOf("one"), Revision: first}, item)
			item, err = capability.NewKV(store, "urn:pulumi:prod::demo::pulumi:providers:lab::default", nil, nil).Get(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, first, item.Revision, "default providers have one part of the store, whichever version they ask for")
			second, err := k.Put(ctx, "a", bytesOf("two"), first)
			require.NoError(t, err)
			for _, stale := range []uint64{0, first} {
				_, err = k.Put(ctx, "a", bytesOf("lost"), stale)
				require.ErrorIs(t, err, abi.ErrUnavailable)
			}
			gone, err := k.Put(ctx, "a", nil, second)
			require.NoError(t, err)
			require.Zero(t, gone)
			again, err := k.Put(ctx, "a", bytesOf(""), 0)
			require.NoError(t, err)
			require.Greater(t, again, second, "a revision is never given out twice")

			for _, key := range []string{"b/2", "b/1", "b/3", "c"} {
				_, err := k.Put(ctx, key, bytesOf(key), 0)
				require.NoError(t, err)
			}
			for _, c := range []struct {
				prefix, after string
				limit         uint32
				want          []string
			}{
				{"", "", 100, []string{"a", "b/1", "b/2", "b/3", "c"}},
				{"b/", "", 2, []string{"b/1", "b/2"}},
				{"b/", "b/2", 2, []string{"b/3"}},
				{"d", "", 2, nil},
			} {
				keys, err := k.Keys(ctx, c.prefix, c.after, c.limit)
				require.NoError(t, err)
				require.Equal(t, c.want, keys)
			}
		})
	}
	again, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, onDisk.contents, again.contents)
	require.Equal(t, onDisk.size, again.size)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestStoreIsBounded(t *testing.T) {
	k := capability.NewKV(New(), "urn:pulumi:dev::demo::pulumi:providers:lab::default", nil, nil)
	for _, key := range []string{"", "a\xff", strings.Repeat("x", capability.MaxKVKey+1)} {
		_, err := k.Get(t.Context(), key)
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		_, err = k.Put(t.Context(), key, nil, 0)
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
	}
	_, err := k.Put(t.Context(), "a", bytesOf(strings.Repeat("x", capability.MaxKVValue+1)), 0)
	require.ErrorContains(t, err, "the value has 262145 bytes, at most 262144 can be stored under one key")
	full := bytesOf(strings.Repeat("x", capability.MaxKVValue))
	n := 0
	for ; err == nil || n == 0; n++ {
		_, err = k.Put(t.Context(), strings.Repeat("k", n+1), full, 0)
	}
	require.ErrorContains(t, err, "the provider's store would have more than 4194304 bytes: delete keys")
	require.Equal(t, MaxBytes/capability.MaxKVValue, n)
	item, err := k.Get(t.Context(), "k")
	require.NoError(t, err)
	_, err = k.Put(t.Context(), "k", nil, item.Revision)
	require.NoError(t, err)
	_, err = k.Put(t.Context(), "other", full, 0)
	require.NoError(t, err, "there is room again")
}

func TestDamagedStoresAreNotUsed(t *testing.T) {
	for text, want := range map[string]string{
		"":              "is damaged",
		"\x82":          "is damaged",
		"{":             "is damaged",
		`{"version":1}`: "is damaged",
	} {
		path := filepath.Join(t.TempDir(), "kv.cbor")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Open(path)
		require.ErrorContains(t, err, want)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(kept))
	}
}

// A file in which a bit was altered is not used, whichever bit it is.
func TestAlteredStoresAreNotUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kv.cbor")
	store, err := Open(path)
	require.NoError(t, err)
	_, err = store.Put(t.Context(), "key", bytesOf("value"), 0)
	require.NoError(t, err)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for bit := range 8 * len(whole) {
		altered := slices.Clone(whole)
		altered[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, altered, 0o600))
		_, err := Open(path)
		require.ErrorContains(t, err, "is damaged", "bit %d of byte %d", bit%8, bit/8)
	}
}

// The values in a file of an earlier version are not lost without a word.
func TestFormerStoresAreRefused(t *testing.T) {
	former := filepath.Join(t.TempDir(), "kv.json")
	require.NoError(t, os.WriteFile(former, []byte(`{"version":1,"revision":7,"items":{}}`), 0o600))
	_, err := Open(strings.TrimSuffix(former, ".json") + ".cbor")
	require.EqualError(t, err, "reading what a provider has stored: "+former+" is of an older husk, and cannot be read: remove it to begin anew")
	require.FileExists(t, former)
}
