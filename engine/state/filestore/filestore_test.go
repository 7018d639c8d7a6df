package filestore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
	"github.com/husk-dev/husk/engine/state/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) state.Store {
		dir := filepath.Join(t.TempDir(), "a", ".husk")
		t.Cleanup(func() { requireNames(t, dir) })
		return filestore.New(dir)
	})
}

// requireNames requires that nothing else is in the directory of a store than what is known to be.
func requireNames(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	for _, e := range entries {
		require.True(t, slices.ContainsFunc(filestore.Names(), func(pattern string) bool {
			matches, _ := filepath.Match(pattern, e.Name())
			return matches
		}), e.Name())
	}
}

func TestStoreInMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) state.Store { return filestore.NewFS(faultfs.New()) })
}

// openStack makes and opens a stack in a directory of the operating system.
func openStack(t *testing.T) (dir string, store *filestore.Store, stack *state.Stack) {
	dir = filepath.Join(t.TempDir(), ".husk")
	store = filestore.New(dir)
	require.NoError(t, state.Create(t.Context(), store, stackName, plainKeys{}))
	return dir, store, reopen(t, store)
}

func reopen(t *testing.T, store *filestore.Store) *state.Stack {
	stack, err := state.Open(t.Context(), store, stackName, plainKeys{}, state.Holder{PID: os.Getpid(), Command: "husk up"})
	require.NoError(t, err)
	return stack
}

func put(t *testing.T, stack *state.Stack, name string) {
	t.Helper()
	require.NoError(t, stack.Append(t.Context(), state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: component(name)}}))
}

// begin appends the beginning of an operation.
func begin(t *testing.T, stack *state.Stack, op state.OpID, name string) {
	t.Helper()
	require.NoError(t, stack.Append(t.Context(), state.Entry{state.BeginOperation{Op: op, Type: state.OperationCreating, Resource: component(name)}}))
}

// filesIn lists the files under a directory.
func filesIn(t *testing.T, dir string) []string {
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	}))
	slices.Sort(out)
	return out
}

func TestLayout(t *testing.T) {
	dir, store, stack := openStack(t)
	put(t, stack, "a")
	begin(t, stack, 0, "b")
	require.Equal(t, []string{
		"backups/proj/dev.1-0.json", "locks/proj/dev.json", "locks/proj/dev.reserve", "locks/proj/dev.tokens", "meta.json",
		"stacks/proj/dev.1-0.journal", "stacks/proj/dev.json",
	}, filesIn(t, dir))
	require.NoError(t, stack.Close(t.Context()))
	settled := []string{"backups/proj/dev.1-0.json", "backups/proj/dev.2-2.json", "locks/proj/dev.json", "locks/proj/dev.tokens", "meta.json", "stacks/proj/dev.json"}
	require.Equal(t, settled, filesIn(t, dir))

	before, err := os.ReadFile(filepath.Join(dir, "stacks/proj/dev.json"))
	require.NoError(t, err)
	require.NoError(t, reopen(t, store).Close(t.Context()))
	after, err := os.ReadFile(filepath.Join(dir, "stacks/proj/dev.json"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "a run that changes nothing writes no checkpoint")
	require.Equal(t, settled, filesIn(t, dir))

	stack = reopen(t, store)
	put(t, stack, "b")
	require.NoError(t, stack.Close(t.Context()))
	kept, err := store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	require.Len(t, kept, 2)
	require.False(t, kept[0].Written.Before(kept[1].Written))
	backup, err := store.Backup(t.Context(), stackName, kept[0].ID)
	require.NoError(t, err)
	require.Equal(t, string(before), string(backup.Checkpoint), "the checkpoint before is kept")

	if runtime.GOOS != "windows" {
		for _, name := range filesIn(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
			info, err = os.Stat(filepath.Dir(filepath.Join(dir, name)))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), name)
		}
	}
}

// Several stacks can be the first of a store at once.
func TestFirstStacksAtOnce(t *testing.T) {
	ctx := t.Context()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	other := false
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if strings.HasPrefix(op.Name, "meta.json") && (op.Kind == "rename" || op.Kind == "write") && !other {
			other = true
			require.NoError(t, state.Create(ctx, filestore.NewFS(fsys), otherName, plainKeys{}))
		}
		return faultfs.Fault{}
	})
	require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
	require.True(t, other)

	dir := filepath.Join(t.TempDir(), "new")
	errs := make(chan error)
	const several = 8
	for i := range several {
		go func() {
			name := state.StackName{Project: "proj", Name: string(rune('a' + i))}
			errs <- state.Create(ctx, filestore.New(dir), name, plainKeys{})
		}()
	}
	for range several {
		require.NoError(t, <-errs)
	}
	names, err := filestore.New(dir).List(ctx)
	require.NoError(t, err)
	require.Len(t, names, several)
}

func TestReadingMakesNoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".husk")
	store := filestore.New(dir)
	_, err := store.List(t.Context())
	require.NoError(t, err)
	_, err = store.Load(t.Context(), stackName)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	_, err = store.Lease(t.Context(), stackName, state.Holder{})
	require.ErrorIs(t, err, state.ErrStackNotFound)
	require.NoDirExists(t, dir)
}

// journalFile returns the one journal in a store's directory.
func journalFile(t *testing.T, dir string) string {
	found, err := filepath.Glob(filepath.Join(dir, "stacks/proj/*.journal"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// abandoned returns a store whose last run put a and b, and died.
func abandoned(t *testing.T) (dir string, store *filestore.Store) {
	dir, store, stack := openStack(t)
	put(t, stack, "a")
	put(t, stack, "b")
	require.NoError(t, store.Break(t.Context(), stackName))
	return dir, store
}

func TestTornRecordIsDroppedAndTold(t *testing.T) {
	dir, store := abandoned(t)
	journal := journalFile(t, dir)
	info, err := os.Stat(journal)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(journal, info.Size()-7))

	stack := reopen(t, store)
	recovery := stack.Recovery()
	require.Equal(t, 1, recovery.Records)
	require.Equal(t, journal, recovery.Dropped.File)
	require.Positive(t, recovery.Dropped.Offset)
	require.Equal(t, 1, stack.Snapshot().Len())
	put(t, stack, "c")
	require.NoError(t, stack.Close(t.Context()))
	stack = reopen(t, store)
	require.Equal(t, 2, stack.Snapshot().Len())
	require.Equal(t, state.Recovery{}, stack.Recovery())
	require.NoError(t, stack.Close(t.Context()))
}

func TestDamagedFilesAreToldNotGuessed(t *testing.T) {
	t.Parallel()
	alter := func(path string, at int) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			if path == "journal" {
				path = journalFile(t, dir)
			} else {
				path = filepath.Join(dir, path)
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[at] ^= 1
			require.NoError(t, os.WriteFile(path, data, 0o600))
			return path
		}
	}
	write := func(path, contents string) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			path := filepath.Join(dir, path)
			require.NoError(t, os.WriteFile(path, []byte(contents), 0o600))
			return path
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir string) (file string){
		"journal":             alter("journal", 50),
		"checkpoint":          alter("stacks/proj/dev.json", 3),
		"empty checkpoint":    write("stacks/proj/dev.json", ""),
		"checkpoint of zeros": write("stacks/proj/dev.json", "\x00\x00\x00\x00"),
		"half a checkpoint":   write("stacks/proj/dev.json", `{"husk":{"sequence":0,"token":1},"version":3,"checkpoint":{"stack":`),
		"foreign checkpoint":  write("stacks/proj/dev.json", `{"version":3,"checkpoint":{"stack":"dev"}}`),
		"meta":                write("meta.json", "{"),
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := abandoned(t)
			file := damage(t, dir)
			before := readAll(t, dir)
			_, _, err := state.Load(t.Context(), store, stackName, plainKeys{}.Open)
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.ErrorContains(t, err, file)
			_, err = state.Open(t.Context(), store, stackName, plainKeys{}, state.Holder{})
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.ErrorContains(t, err, file)
			var corrupt *state.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.NotEmpty(t, corrupt.Remedy)
			require.Equal(t, before, readAll(t, dir), "nothing was changed")
		})
	}
}

// readAll returns the files of stacks and their contents.
func readAll(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	for _, name := range filesIn(t, filepath.Join(dir, "stacks")) {
		data, err := os.ReadFile(filepath.Join(dir, "stacks", name))
		require.NoError(t, err)
		out[name] = string(data)
	}
	return out
}

// Whichever bit of a checkpoint or of a journal is flipped, nobody reads another state. The error
// says which file is damaged and what to do.
func TestEveryFlippedBitIsTold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
	stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		put(t, stack, name)
	}
	require.NoError(t, stack.Close(ctx))
	stack, err = state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	for _, name := range []string{"c", "d"} {
		put(t, stack, name)
	}
	require.NoError(t, store.Break(ctx, stackName))
	for _, file := range []string{"stacks/proj/dev.json", "stacks/proj/dev.2-2.journal"} {
		whole := fileOn(t, fsys, file)
		for bit := range 8 * len(whole) {
			flipped := slices.Clone(whole)
			flipped[bit/8] ^= 1 << (bit % 8)
			writeOn(t, fsys, file, flipped)
			_, _, err := state.Load(ctx, store, stackName, plainKeys{}.Open)
			damage, ok := errors.AsType[*state.CorruptError](err)
			require.True(t, ok, "bit %d of byte %d of %s: %v", bit%8, bit/8, file, err)
			require.Equal(t, "/disk/"+file, damage.File)
			require.Contains(t, damage.Remedy, "husk sta")
		}
		writeOn(t, fsys, file, whole)
	}
	snapshot, _, err := state.Load(ctx, store, stackName, plainKeys{}.Open)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d"}, namesOf(snapshot))
}

func fileOn(t *testing.T, fsys *faultfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return data
}

func writeOn(t *testing.T, fsys *faultfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
}

func TestOtherLayoutIsRefused(t *testing.T) {
	dir, store := abandoned(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "meta.json"), []byte(`{"version":2}`), 0o600))
	_, err := store.List(t.Context())
	require.ErrorIs(t, err, state.ErrUnsupported)
	_, err = store.Load(t.Context(), stackName)
	require.ErrorIs(t, err, state.ErrUnsupported)
	require.ErrorIs(t, store.Create(t.Context(), state.StackName{Project: "p", Name: "n"}, []byte(`{}`)), state.ErrUnsupported)
}

func TestForeignCheckpointIsTakenOver(t *testing.T) {
	dir, store, stack := openStack(t)
	require.NoError(t, stack.Close(t.Context()))
	foreign := `{"version":3,"checkpoint":{"stack":"organization/proj/dev","latest":{"manifest":{"time":"2024-01-01T00:00:00Z","magic":"","version":""},"secrets_providers":{"type":"reversing","state":{}},"resources":[{"urn":"urn:pulumi:dev::proj::a:b:C::x","custom":false,"type":"a:b:C"}]}}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stacks/proj/dev.json"), []byte(foreign), 0o600))
	stack = reopen(t, store)
	put(t, stack, "y")
	require.NoError(t, stack.Close(t.Context()))
	stack = reopen(t, store)
	require.Equal(t, 2, stack.Snapshot().Len())
	require.NoError(t, stack.Close(t.Context()))
}

func TestLostLockFileIsNoHarm(t *testing.T) {
	dir, store := abandoned(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "locks/proj/dev.json")))
	stack := reopen(t, store)
	put(t, stack, "c")
	require.NoError(t, store.Break(t.Context(), stackName))
	stack = reopen(t, store)
	require.Equal(t, 3, stack.Snapshot().Len(), "records of the new lease follow those of the old")
	require.NoError(t, stack.Close(t.Context()))
}

func TestSymbolicLinksLeadNowhere(t *testing.T) {
	dir, store, stack := openStack(t)
	require.NoError(t, stack.Close(t.Context()))
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.MkdirAll(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "dev.json"), []byte(`{"version":3}`), 0o600))
	if err := os.Symlink(outside, filepath.Join(dir, "stacks", "evil")); err != nil {
		t.Skip("the system has no symbolic links")
	}
	_, err := store.Load(t.Context(), state.StackName{Project: "evil", Name: "dev"})
	require.Error(t, err)
	require.NotErrorIs(t, err, state.ErrStackNotFound)
	require.Error(t, store.Create(t.Context(), state.StackName{Project: "evil", Name: "new"}, []byte(`{}`)))
	require.Equal(t, []string{"dev.json"}, filesIn(t, outside))
}

// What operations under way have done is saved even when the disk is full; new
// ones are refused, and the user is told.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
	stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	begin := func(op state.OpID, name string) error {
		return stack.Append(ctx, state.Entry{state.BeginOperation{Op: op, Type: state.OperationCreating, Resource: component(name)}})
	}
	require.NoError(t, begin(0, "a"))
	require.NoError(t, begin(1, "b"))
	fsys.SetCapacity(fsys.Used() + 10)

	end := func(op state.OpID, name string) error {
		return stack.Append(ctx, state.Entry{state.EndOperation{Op: op}, state.PutResource{Serial: state.Serial(op), Resource: component(name)}})
	}
	require.NoError(t, end(0, "a"), "the result is saved")
	err = begin(2, "c")
	require.ErrorIs(t, err, state.ErrNoSpace)
	require.ErrorContains(t, err, "free some space")
	require.NoError(t, end(1, "b"))
	require.NoError(t, stack.Close(ctx))

	snapshot, _, err := state.Load(ctx, store, stackName, plainKeys{}.Open)
	require.NoError(t, err)
	require.Equal(t, 2, snapshot.Len())
	for range snapshot.Operations() {
		require.Fail(t, "no operation is pending")
	}
}

// A disk with no room at all: each append fails alone, and what there was stays.
func TestFullDiskWithoutReserve(t *testing.T) {
	ctx := context.Background()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
	stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	put(t, stack, "a")
	fsys.SetCapacity(1)
	failed := stack.Append(ctx, state.Entry{state.PutResource{Serial: 9, Resource: component("b")}})
	require.ErrorIs(t, failed, state.ErrNoSpace)
	_, exists := stack.Snapshot().Resource(9)
	require.False(t, exists, "an entry that was not saved has no effect")
	err = stack.Close(ctx)
	require.ErrorIs(t, err, state.ErrNoSpace)
	require.ErrorContains(t, err, "the next run continues from there")

	fsys.SetCapacity(0)
	stack, err = state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	require.Equal(t, 1, stack.Snapshot().Len())
	require.Equal(t, 1, stack.Recovery().Records)
	require.NoError(t, stack.Close(ctx))
}
