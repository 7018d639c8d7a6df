package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

// failing makes operations of a kind on the journal fail.
func failing(kinds ...string) func(faultfs.Op) faultfs.Fault {
	return func(op faultfs.Op) faultfs.Fault {
		for _, kind := range kinds {
			if op.Kind == kind && strings.HasSuffix(op.Name, ".journal") {
				return faultfs.Fault{Err: syscall.EIO, Partial: true}
			}
		}
		return faultfs.Fault{}
	}
}

func TestLeaseTakesNoMoreOnceTheJournalIsInDoubt(t *testing.T) {
	for name, kinds := range map[string][]string{
		"a sync failed":                      {"sync"},
		"part of a record cannot be cut off": {"write", "truncate"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			fsys := faultfs.New()
			store := filestore.NewFS(fsys)
			require.NoError(t, store.Create(ctx, stackName, []byte(`{}`)))
			lease, err := store.Lease(ctx, stackName, state.Holder{})
			require.NoError(t, err)
			_, err = lease.Load(ctx)
			require.NoError(t, err)
			require.NoError(t, lease.Append(ctx, 1, []byte("one")))

			fsys.Inject(failing(kinds...))
			require.ErrorIs(t, lease.Append(ctx, 2, []byte("two")), syscall.EIO)
			fsys.Inject(nil)
			require.ErrorIs(t, lease.Append(ctx, 2, []byte("two")), syscall.EIO)
			require.ErrorIs(t, lease.Checkpoint(ctx, 1, []byte(`{}`)), syscall.EIO)
			require.NoError(t, lease.Release(ctx))

			contents, err := store.Load(ctx, stackName)
			require.NoError(t, err)
			require.Equal(t, "one", string(contents.Records[0]))
		})
	}
}

// A full disk that leaves part of a record behind, which cannot be cut off, gets
// no second record.
func TestPartOfARecordIsTheLast(t *testing.T) {
	ctx := t.Context()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, store.Create(ctx, stackName, []byte(`{}`)))
	lease, err := store.Lease(ctx, stackName, state.Holder{})
	require.NoError(t, err)
	_, err = lease.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, lease.Append(ctx, 1, []byte("one")))
	writes := 0
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.Kind == "write" {
			writes++
			return faultfs.Fault{Err: syscall.ENOSPC, Partial: true}
		}
		return failing("truncate")(op)
	})
	err = lease.Append(ctx, 2, []byte("two"))
	require.ErrorIs(t, err, syscall.EIO)
	require.NotErrorIs(t, err, state.ErrNoSpace)
	require.Equal(t, 1, writes)
	fsys.Inject(nil)
	require.NoError(t, lease.Release(ctx))
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Len(t, contents.Records, 1)
	require.NotNil(t, contents.Dropped)
}

func TestLeaseGoesOnWhereTheJournalIsAsBefore(t *testing.T) {
	ctx := t.Context()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, store.Create(ctx, stackName, []byte(`{}`)))
	lease, err := store.Lease(ctx, stackName, state.Holder{})
	require.NoError(t, err)
	require.ErrorContains(t, lease.Append(ctx, 1, []byte("one")), "not loaded")
	_, err = lease.Load(ctx)
	require.NoError(t, err)
	fsys.Inject(failing("write"))
	require.ErrorIs(t, lease.Append(ctx, 1, []byte("one")), syscall.EIO)
	fsys.Inject(nil)
	require.NoError(t, lease.Append(ctx, 1, []byte("one")))
	require.ErrorContains(t, lease.Checkpoint(ctx, 1, []byte(`[]`)), "JSON object")
	require.NoError(t, lease.Checkpoint(ctx, 1, []byte(`{"a":1}`)))
	require.NoError(t, lease.Release(ctx))
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Contains(t, string(contents.Checkpoint), `"a":1`)
	require.EqualValues(t, 1, contents.Sequence)
}

// A file that was not opened is no file: what failed once can be tried again.
func TestJournalThatCouldNotBeOpened(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	store := filestore.New(dir)
	require.NoError(t, store.Create(ctx, stackName, []byte(`{}`)))
	lease, err := store.Lease(ctx, stackName, state.Holder{})
	require.NoError(t, err)
	_, err = lease.Load(ctx)
	require.NoError(t, err)
	blocked := filepath.Join(dir, "stacks", "proj", "dev.1-0.journal")
	require.NoError(t, os.Mkdir(blocked, 0o700))
	for range 2 {
		err = lease.Append(ctx, 1, []byte("one"))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrInvalid, "the file is not open")
		require.ErrorContains(t, err, blocked)
	}
	require.NoError(t, os.Remove(blocked))
	require.NoError(t, lease.Append(ctx, 1, []byte("one")))
	require.NoError(t, lease.Release(ctx))
}

// The lock of a file that a link leads to never has the link's name.
func TestLockThatIsALink(t *testing.T) {
	at := t.TempDir()
	store := filestore.New(at)
	name := state.StackName{Project: "demo", Name: "dev"}
	require.NoError(t, store.Create(t.Context(), name, []byte(`{"version":3,"checkpoint":{"stack":"organization/demo/dev"}}`)))
	lock := filepath.Join(at, "locks", "demo", "dev.json")
	if err := errors.Join(os.RemoveAll(lock), os.MkdirAll(filepath.Dir(lock), 0o700), os.Symlink("nowhere", lock)); err != nil {
		t.Skip(err) // on Windows it takes a right
	}
	_, err := store.Lease(t.Context(), name, state.Holder{})
	require.ErrorContains(t, err, "dev.json is not a file: remove it")
	require.NoFileExists(t, filepath.Join(filepath.Dir(lock), "nowhere"))
}

// However leases and their ends by others race, no two leases have the same token.
func TestTokensOfLeasesThatAreBroken(t *testing.T) {
	t.Parallel()
	store := filestore.New(t.TempDir())
	require.NoError(t, store.Create(t.Context(), stackName, []byte("{}")))
	const each = 150
	var mu sync.Mutex
	tokens := make(map[uint64]bool)
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for range each {
				assert.NoError(t, store.Break(t.Context(), stackName))
			}
		})
		work.Go(func() {
			for range each {
				l, err := store.Lease(t.Context(), stackName, state.Holder{PID: 1})
				if errors.Is(err, state.ErrLocked) {
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				assert.False(t, tokens[l.Token()], "token %d was given twice", l.Token())
				tokens[l.Token()] = true
				mu.Unlock()
				_ = l.Release(t.Context()) // it may be broken by now
			}
		})
	}
	work.Wait()
	require.NotEmpty(t, tokens)
}

// TestLateRecordOfAFencedHolder has a holder lose its lease while it writes a record, which lands behind what the next
// holder has loaded. When the disk is full, that one takes back its own record, and none that was confirmed.
func TestLateRecordOfAFencedHolder(t *testing.T) {
	ctx, fsys := t.Context(), faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, store.Create(ctx, stackName, []byte("{}")))
	lease := func() state.Lease {
		l, err := store.Lease(ctx, stackName, state.Holder{})
		require.NoError(t, err)
		_, err = l.Load(ctx)
		require.NoError(t, err)
		return l
	}
	former := lease()
	var next state.Lease
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.Kind == "write" {
			fsys.Inject(nil)
			require.NoError(t, store.Break(ctx, stackName))
			next = lease()
		}
		return faultfs.Fault{}
	})
	require.ErrorIs(t, former.Append(ctx, 1, []byte("late")), state.ErrFenced)
	require.NoError(t, next.Append(ctx, 1, []byte("one")))
	failAt(fsys, 1, syscall.ENOSPC)
	require.ErrorIs(t, next.Append(ctx, 2, []byte("two")), state.ErrNoSpace)
	fsys.Inject(nil)
	c, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("one")}, c.Records)
	require.NoError(t, next.Append(ctx, 2, []byte("two")))
	require.NoError(t, next.Append(ctx, 3, []byte("three")))
	c, err = store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Len(t, c.Records, 3)
	require.NoError(t, next.Release(ctx))
	require.NoError(t, former.Release(ctx))
}
