package filestore_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

// listedFS notes which directories are listed, and counts the files that a store gets to see.
type listedFS struct {
	filestore.FS
	listed []string
	seen   int
}

func (l *listedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := l.FS.ReadDir(name)
	l.listed = append(l.listed, name)
	l.seen += len(entries)
	return entries, err
}

func (l *listedFS) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	l.seen++
	return l.FS.OpenFile(name, flag, perm)
}

// Reading a stack lists no directory with files of all stacks of the project: reading all would take the square of their
// number.
func TestReadingAStackListsNoOthers(t *testing.T) {
	listing := &listedFS{FS: faultfs.New()}
	store := filestore.NewFS(listing)
	require.NoError(t, state.Create(t.Context(), store, stackName, plainKeys{}))
	listing.listed = nil
	_, err := store.Load(t.Context(), stackName)
	require.NoError(t, err)
	require.Subset(t, []string{"intents"}, listing.listed)
}

// Listing and reading twice as many stacks takes twice as many files, whoever wrote them last.
func TestReadingAllStacksTogether(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, files *faultfs.FS, store *filestore.Store, name state.StackName){
		"written by Husk": func(*testing.T, *faultfs.FS, *filestore.Store, state.StackName) {},
		"written by another tool": func(t *testing.T, files *faultfs.FS, _ *filestore.Store, name state.StackName) {
			writeOn(t, files, "stacks/"+name.Project+"/"+name.Name+".json", []byte(`{"version":3,"checkpoint":{}}`))
		},
		"removed": func(t *testing.T, _ *faultfs.FS, store *filestore.Store, name state.StackName) {
			removeStack(t, store, name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := func(stacks int) int {
				files := faultfs.New()
				listing := &listedFS{FS: files}
				store := filestore.NewFS(listing)
				for i := range stacks {
					name := state.StackName{Project: "lab", Name: fmt.Sprint("stack", i)}
					require.NoError(t, state.Create(t.Context(), store, name, plainKeys{}))
					change(t, files, store, name)
				}
				listing.seen = 0
				names, err := store.List(t.Context())
				require.NoError(t, err)
				ctx := state.Together(t.Context())
				for _, name := range names {
					_, err := store.Load(ctx, name)
					require.NoError(t, err)
				}
				return listing.seen
			}
			require.LessOrEqual(t, seen(40), 2*seen(20))
		})
	}
}

// Stacks that are read together are as they are now where an earlier listing says that one is damaged or lost.
func TestReadingTogetherLooksAgainBeforeAnError(t *testing.T) {
	_, store, stack := openStack(t)
	require.NoError(t, stack.Close(t.Context()))
	other := state.StackName{Project: stackName.Project, Name: "other"}
	require.NoError(t, state.Create(t.Context(), store, other, plainKeys{}))
	removeStack(t, store, other)
	ctx := state.Together(t.Context())
	_, err := store.Load(ctx, other)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	removeStack(t, store, stackName)
	_, err = store.Load(ctx, stackName)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	require.NotErrorIs(t, err, state.ErrCorrupt)
}

func removeStack(t *testing.T, store *filestore.Store, name state.StackName) {
	t.Helper()
	lease, err := store.Lease(t.Context(), name, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, lease.Remove(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
}
