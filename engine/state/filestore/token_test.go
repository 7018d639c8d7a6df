package filestore_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

// failAt has one operation of those that follow fail, after a write has written half of its bytes. It returns what tells
// whether that has happened.
func failAt(fsys *faultfs.FS, n int, err error) (failed func() bool) {
	at := fsys.Ops() + n
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.N == at {
			return faultfs.Fault{Err: err, Partial: true}
		}
		return faultfs.Fault{}
	})
	return func() bool { return fsys.Ops() >= at }
}

// TestTokensAfterErrors has the disk fail at each operation of two leases. No token comes again, although no lease has
// written a record or a checkpoint.
func TestTokensAfterErrors(t *testing.T) {
	ctx := t.Context()
	for first, more := 1, true; more; first++ {
		more = false
		for second, again := 1, true; again; second++ {
			fsys := faultfs.New()
			store := filestore.NewFS(fsys)
			require.NoError(t, store.Create(ctx, stackName, []byte("{}")))
			var last uint64
			lease := func() {
				l, err := store.Lease(ctx, stackName, state.Holder{})
				if err != nil {
					require.ErrorIs(t, err, syscall.EIO)
					return
				}
				require.Greater(t, l.Token(), last, "errors at %d and %d", first, second)
				last = l.Token()
				require.NoError(t, l.Release(ctx))
			}
			lease()
			failed := failAt(fsys, first, syscall.EIO)
			lease()
			more = more || failed()
			failed = failAt(fsys, second, syscall.EIO)
			lease()
			again = failed()
			fsys.Inject(nil)
			lease()
		}
	}
}
