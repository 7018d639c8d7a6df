// Package backendtest holds the tests that every backend must pass, beside the tests of storetest.
package backendtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

var (
	name  = state.StackName{Project: "proj", Name: "dev"}
	other = state.StackName{Project: "proj", Name: "other"}
)

var empty = []byte(`{"version":3,"checkpoint":{"stack":"zero"}}`)

// Run tests the backends that open returns. Each is empty.
func Run(t *testing.T, open func(t *testing.T) *backend.Backend) {
	for name, test := range map[string]func(*testing.T, *backend.Backend){
		"modules":                        modules,
		"values of providers":            values,
		"records of runs":                runs,
		"belongings go with their stack": belongings,
		"checked":                        checked,
		"a lease ends with its run":      ending,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func modules(t *testing.T, b *backend.Backend) {
	ctx := t.Context()
	content := []byte("\x00asm and more")
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	has, err := b.Modules.Has(ctx, digest)
	require.NoError(t, err)
	require.False(t, has)
	_, err = b.Modules.Get(ctx, digest)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, b.Modules.Put(ctx, digest, func() ([]byte, error) { return content, nil }))
	require.NoError(t, b.Modules.Put(ctx, digest, func() ([]byte, error) {
		require.Fail(t, "it is stored already")
		return nil, nil
	}))
	has, err = b.Modules.Has(ctx, digest)
	require.NoError(t, err)
	require.True(t, has)
	is, err := b.Modules.Get(ctx, digest)
	require.NoError(t, err)
	require.Equal(t, content, is)
	require.NoError(t, b.Modules.Collect(ctx, func() (map[string]bool, error) { return nil, nil }))
	has, err = b.Modules.Has(ctx, digest)
	require.NoError(t, err)
	require.True(t, has, "a run may need a module that was just kept")
}

func values(t *testing.T, b *backend.Backend) {
	ctx := t.Context()
	require.NoError(t, b.State.Create(ctx, name, empty))
	require.NoError(t, b.State.Create(ctx, other, empty))
	is, none, err := b.KV.Load(ctx, name, "aws")
	require.NoError(t, err)
	require.Nil(t, is)
	first, err := b.KV.Save(ctx, name, "aws", []byte("one"), none)
	require.NoError(t, err)
	is, version, err := b.KV.Load(ctx, name, "aws")
	require.NoError(t, err)
	require.Equal(t, "one", string(is))
	require.Equal(t, first, version)
	second, err := b.KV.Save(ctx, name, "aws", []byte("two\x00"), first)
	require.NoError(t, err)
	if first != second { // files have no versions: only one run uses them
		for _, stale := range []string{none, first} {
			_, err = b.KV.Save(ctx, name, "aws", []byte("lost"), stale)
			require.ErrorIs(t, err, backend.ErrChanged)
		}
	}
	is, _, err = b.KV.Load(ctx, name, "aws")
	require.NoError(t, err)
	require.Equal(t, "two\x00", string(is))
	_, err = b.KV.Save(ctx, name, "gcp", []byte("of another"), none)
	require.NoError(t, err)
	providers, err := b.KV.List(ctx, name)
	require.NoError(t, err)
	require.Equal(t, []string{"aws", "gcp"}, providers)
	providers, err = b.KV.List(ctx, other)
	require.NoError(t, err)
	require.Empty(t, providers)
}

// Fencing checks that a holder whose lease was taken away changes nothing beside the state of an empty backend, in which
// values and updates have the versions that the next holder knows.
func Fencing(t *testing.T, b *backend.Backend) {
	ctx, a := t.Context(), b.State
	require.NoError(t, b.State.Create(ctx, name, empty))
	lease := func() (state.Lease, context.Context) {
		l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
		require.NoError(t, err)
		return l, backend.WithToken(ctx, l.Token())
	}
	former, formers := lease()
	first, err := b.KV.Save(formers, name, "aws", []byte("first"), "")
	require.NoError(t, err)
	require.NoError(t, a.SetHistory(formers, name, [][]byte{[]byte(`{"is":"first"}`)}))
	require.NoError(t, b.State.Break(ctx, name))
	latter, latters := lease()

	_, err = b.KV.Save(formers, name, "aws", []byte("lost"), first)
	require.ErrorIs(t, err, state.ErrFenced)
	_, err = b.KV.Save(formers, name, "gcp", []byte("lost"), "")
	require.ErrorIs(t, err, state.ErrFenced)
	require.ErrorIs(t, a.SetHistory(formers, name, [][]byte{[]byte(`{"is":"lost"}`)}), state.ErrFenced)
	require.ErrorIs(t, a.SetHistory(formers, name, nil), state.ErrFenced)

	providers, err := b.KV.List(ctx, name)
	require.NoError(t, err)
	require.Equal(t, []string{"aws"}, providers)
	_, err = b.KV.Save(latters, name, "aws", []byte("second"), first)
	require.NoError(t, err)
	_, err = b.KV.Save(latters, name, "aws", []byte("lost"), first)
	require.ErrorIs(t, err, backend.ErrChanged)
	updates, err := a.History(ctx, name)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte(`{"is":"first"}`)}, updates)
	require.NoError(t, a.SetHistory(latters, name, nil))
	require.NoError(t, former.Release(ctx))
	require.NoError(t, latter.Release(ctx))
	require.NoError(t, a.SetHistory(latters, name, updates), "nobody has taken the lease since")
	fencedEnding(t, b)
}

func runs(t *testing.T, b *backend.Backend) {
	ctx := t.Context()
	require.NoError(t, b.State.Create(ctx, name, empty))
	_, err := b.History.Get(ctx, name, "20261123T134500.000Z-up-1")
	require.ErrorIs(t, err, fs.ErrNotExist)
	id := func(n int) string { return fmt.Sprintf("20261123T1345%02d.000Z-up-%d", n, n) }
	const more = 3
	for n := range backend.KeptRecords + more {
		require.NoError(t, b.History.Put(ctx, name, id(n), fmt.Append(nil, "record ", n)))
	}
	ids, err := b.History.List(ctx, name)
	require.NoError(t, err)
	require.Len(t, ids, backend.KeptRecords)
	require.Equal(t, id(more), ids[0], "the oldest are gone")
	content, err := b.History.Get(ctx, name, ids[0])
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint("record ", more), string(content))
}

func belongings(t *testing.T, b *backend.Backend) {
	ctx := t.Context()
	a := b.State
	require.NoError(t, b.State.Create(ctx, name, empty))
	_, err := b.KV.Save(ctx, name, "aws", []byte("one"), "")
	require.NoError(t, err)
	const run = "20261123T134500.000Z-up-1"
	require.NoError(t, b.History.Put(ctx, name, run, []byte("record")))
	require.NoError(t, a.SetHistory(ctx, name, [][]byte{[]byte("{}")}))
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Rename(ctx, other, empty))
	require.NoError(t, l.Release(ctx))
	has := func(stack state.StackName, want int) {
		t.Helper()
		providers, err := b.KV.List(ctx, stack)
		require.NoError(t, err)
		require.Len(t, providers, want)
		ids, err := b.History.List(ctx, stack)
		require.NoError(t, err)
		require.Len(t, ids, want)
		updates, err := a.History(ctx, stack)
		require.NoError(t, err)
		require.Len(t, updates, want)
	}
	has(name, 0)
	has(other, 1)
	l, err = b.State.Lease(ctx, other, state.Holder{PID: 1})
	require.NoError(t, err)
	require.NoError(t, l.Remove(ctx))
	require.NoError(t, l.Release(ctx))
	require.NoError(t, b.State.Create(ctx, other, empty))
	has(other, 0)
}

func checked(t *testing.T, b *backend.Backend) {
	if b.Check != nil {
		require.NoError(t, b.Check(t.Context()))
	}
	names, err := b.State.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, names, "trying a backend leaves no trace")
}
