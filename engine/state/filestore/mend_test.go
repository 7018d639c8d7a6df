package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

// twoRuns returns a store whose stack has a and b, by two runs.
func twoRuns(t *testing.T) (dir string, store *filestore.Store) {
	dir, store, stack := openStack(t)
	put(t, stack, "a")
	require.NoError(t, stack.Close(t.Context()))
	stack = reopen(t, store)
	put(t, stack, "b")
	require.NoError(t, stack.Close(t.Context()))
	return dir, store
}

func checkpointIn(dir string) string { return filepath.Join(dir, "stacks", "proj", "dev.json") }

func damage(t *testing.T, file, old, by string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(data), old, by, 1)), 0o600))
}

func namesOf(s *state.Snapshot) (names []string) {
	for _, r := range s.Resources() {
		names = append(names, r.URN.Name())
	}
	return names
}

// A checkpoint whose file is gone is not a stack that never was: nobody makes it anew, and it can
// be had again, with what the journal says since.
func TestCheckpointThatIsGone(t *testing.T) {
	ctx := t.Context()
	for name, leave := range map[string]func(t *testing.T, stack *state.Stack, store *filestore.Store){
		"after a run": func(t *testing.T, stack *state.Stack, _ *filestore.Store) { require.NoError(t, stack.Close(ctx)) },
		"after a run that was cut off": func(t *testing.T, _ *state.Stack, store *filestore.Store) {
			require.NoError(t, store.Break(ctx, stackName))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := twoRuns(t)
			stack := reopen(t, store)
			put(t, stack, "c")
			leave(t, stack, store)
			require.NoError(t, os.Remove(checkpointIn(dir)))

			names, err := store.List(ctx)
			require.NoError(t, err)
			require.Equal(t, []state.StackName{stackName}, names)
			_, _, err = state.Load(ctx, store, stackName, nil)
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.NotErrorIs(t, err, state.ErrStackNotFound)
			require.ErrorContains(t, err, "the file is gone, though nobody removed the stack")
			require.ErrorContains(t, err, "husk stack restore")
			_, err = state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.ErrorIs(t, state.Create(ctx, store, stackName, plainKeys{}), state.ErrCorrupt)

			kept, err := store.Backups(ctx, stackName)
			require.NoError(t, err)
			backup, err := store.Backup(ctx, stackName, kept[0].ID)
			require.NoError(t, err)
			d, err := state.OpenDamaged(ctx, store, stackName, state.Holder{})
			require.NoError(t, err)
			restored, err := d.Restore(ctx, backup)
			require.NoError(t, err)
			require.Empty(t, restored.Unsure)
			require.NoError(t, d.Close(ctx))
			stack = reopen(t, store)
			require.Equal(t, []string{"a", "b", "c"}, namesOf(stack.Snapshot()))
			require.NoError(t, stack.Close(ctx))
		})
	}
}

// What is left of a stack that was removed is no sign that its checkpoint is lost.
func TestRemovedStackIsNotLost(t *testing.T) {
	ctx := t.Context()
	dir, store := twoRuns(t)
	require.NoError(t, store.SetHistory(ctx, stackName, [][]byte{[]byte("{}")}))
	lease, err := store.Lease(ctx, stackName, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, lease.Remove(ctx))
	require.NoError(t, lease.Release(ctx))
	require.NoFileExists(t, checkpointIn(dir))
	_, err = store.Load(ctx, stackName)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	names, err := store.List(ctx)
	require.NoError(t, err)
	require.Empty(t, names)

	// Made again, it can be lost like any other.
	require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
	require.NoError(t, os.Remove(checkpointIn(dir)))
	_, err = store.Load(ctx, stackName)
	require.ErrorIs(t, err, state.ErrCorrupt)

	// A lost one can be forgotten as well.
	lease, err = store.Lease(ctx, stackName, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, lease.Remove(ctx))
	require.NoError(t, lease.Release(ctx))
	_, err = store.Load(ctx, stackName)
	require.ErrorIs(t, err, state.ErrStackNotFound)
}

// A history is the last sign of a stack of which there is nothing else.
func TestHistoryIsASignOfAStack(t *testing.T) {
	ctx := t.Context()
	store := filestore.New(t.TempDir())
	require.NoError(t, state.Create(ctx, store, otherName, plainKeys{}))
	gone := state.StackName{Project: otherName.Project, Name: "gone"}
	require.NoError(t, store.SetHistory(ctx, gone, [][]byte{[]byte("{}")}))
	_, err := store.Load(ctx, gone)
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "there is no earlier state")
	require.ErrorIs(t, state.Create(ctx, store, gone, plainKeys{}), state.ErrCorrupt)
}

// damagedStack returns a stack with the custom resources a and b and the component c, whose last run
// was cut off while it made d, and whose checkpoint is damaged then.
func damagedStack(t *testing.T) (dir string, store *filestore.Store) {
	t.Helper()
	ctx := t.Context()
	dir, store, stack := openStack(t)
	custom := func(name string) *state.Resource {
		r := component(name)
		r.Custom, r.ID = true, name+"-1"
		return r
	}
	add := func(r *state.Resource) {
		require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: r}}))
	}
	add(custom("a"))
	require.NoError(t, stack.Close(ctx))
	stack = reopen(t, store)
	add(custom("b"))
	add(component("c"))
	require.NoError(t, stack.Close(ctx))
	stack = reopen(t, store)
	begin(t, stack, 0, "x") // a component, of which nothing is left over
	require.NoError(t, stack.Append(ctx, state.Entry{state.BeginOperation{Op: 1, Type: state.OperationCreating, Resource: custom("d")}}))
	add(custom("d"))
	require.NoError(t, store.Break(ctx, stackName))
	damage(t, checkpointIn(dir), `"id":"a-1"`, `"id":"a-9"`)
	_, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "its checksum is")
	require.ErrorContains(t, err, "husk stack import --force --file "+checkpointIn(dir))
	return dir, store
}

// restore restores a backup of a damaged stack: the n-th of those that there are.
func restore(t *testing.T, store *filestore.Store, n int) *state.Restored {
	t.Helper()
	kept, err := store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	backup, err := store.Backup(t.Context(), stackName, kept[n].ID)
	require.NoError(t, err)
	d, err := state.OpenDamaged(t.Context(), store, stackName, state.Holder{})
	require.NoError(t, err)
	_, err = d.Salvage(t.Context())
	require.ErrorIs(t, err, state.ErrCorrupt, "a journal cannot follow on what is not known")
	restored, err := d.Restore(t.Context(), backup)
	require.NoError(t, err)
	require.NoError(t, d.Close(t.Context()))
	return restored
}

func pendingOf(s *state.Snapshot) map[string]state.OperationType {
	pending := map[string]state.OperationType{}
	for _, op := range s.Operations() {
		pending[op.Resource.URN.Name()] = op.Type
	}
	return pending
}

// A damaged checkpoint is restored from its copy, with what the journal says since.
func TestDamagedCheckpointIsRestored(t *testing.T) {
	_, store := damagedStack(t)
	restored := restore(t, store, 0)
	require.Empty(t, restored.Unsure)
	stack := reopen(t, store)
	require.Equal(t, []string{"a", "b", "c", "d"}, namesOf(stack.Snapshot()))
	require.Equal(t, map[string]state.OperationType{"d": state.OperationCreating, "x": state.OperationCreating}, pendingOf(stack.Snapshot()))
	first, _ := stack.Snapshot().Resource(0)
	require.Equal(t, "a-1", first.ID)
	require.NoError(t, stack.Close(t.Context()))
}

// Without the copy an older backup takes its place. What is damaged is kept, and what it names and
// the backup lacks is not forgotten.
func TestOlderStateDoesNotForget(t *testing.T) {
	ctx := t.Context()
	dir, store := damagedStack(t)
	damaged, err := os.ReadFile(checkpointIn(dir))
	require.NoError(t, err)
	journal, err := os.ReadFile(journalFile(t, dir))
	require.NoError(t, err)
	kept, err := store.Backups(ctx, stackName)
	require.NoError(t, err)
	damage(t, filepath.Join(dir, "backups", "proj", "dev."+kept[0].ID+".json"), "2retnuh", "2retnux")
	_, err = store.Backup(ctx, stackName, kept[0].ID)
	require.ErrorIs(t, err, state.ErrCorrupt)

	restored := restore(t, store, 1)
	require.Equal(t, []string{"a"}, namesOf(restored.Snapshot))
	var unsure []string
	for _, u := range restored.Unsure {
		unsure = append(unsure, u.Name())
	}
	require.Equal(t, []string{"b", "d"}, unsure)
	require.Len(t, restored.Aside, 2)
	for i, want := range [][]byte{damaged, journal} {
		data, err := os.ReadFile(restored.Aside[i])
		require.NoError(t, err)
		require.Equal(t, want, data)
	}
	stack := reopen(t, store)
	require.Equal(t, []string{"a"}, namesOf(stack.Snapshot()))
	require.Equal(t, map[string]state.OperationType{"b": state.OperationCreating, "d": state.OperationCreating}, pendingOf(stack.Snapshot()))
	put(t, stack, "e")
	require.NoError(t, stack.Close(ctx))
	require.Equal(t, state.Recovery{}, reopen(t, store).Recovery())
}

// A damaged journal is saved up to the damage, over the checkpoint that is whole.
func TestDamagedJournalIsSalvaged(t *testing.T) {
	ctx := t.Context()
	dir, store, stack := openStack(t)
	put(t, stack, "a")
	require.NoError(t, stack.Close(ctx))
	stack = reopen(t, store)
	custom := func(name string) *state.Resource {
		r := component(name)
		r.Custom, r.ID = true, name+"-1"
		return r
	}
	for _, entry := range []state.Entry{
		{state.PutResource{Serial: 1, Resource: custom("b")}},
		{state.BeginOperation{Op: 0, Type: state.OperationUpdating, Resource: custom("b")}},
		{state.EndOperation{Op: 0}, state.PutResource{Serial: 1, Resource: custom("b")}},
		{state.BeginOperation{Op: 1, Type: state.OperationCreating, Resource: custom("lost")}},
		{state.EndOperation{Op: 1}, state.PutResource{Serial: 2, Resource: custom("c")}},
		{state.RemoveResource{Serial: 1}},
		{state.SetManifest{}},
	} {
		require.NoError(t, stack.Append(ctx, entry))
	}
	require.NoError(t, store.Break(ctx, stackName))
	file := journalFile(t, dir)
	damage(t, file, "::lost", "::tost")
	_, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "husk state repair --journal")

	d, err := state.OpenDamaged(ctx, store, stackName, state.Holder{})
	require.NoError(t, err)
	salvage, err := d.Salvage(ctx)
	require.NoError(t, err)
	require.Equal(t, file, salvage.Damage.File)
	require.Equal(t, 3, salvage.Kept)
	require.Equal(t, []state.LostChanges{
		{Sequence: 5},
		{Sequence: 6, Changes: []string{`recorded urn:pulumi:dev::proj::a:b:C::c with the ID "c-1"`}},
		{Sequence: 7, Changes: []string{`removed urn:pulumi:dev::proj::a:b:C::b`}},
		{Sequence: 8, Changes: []string{"changed the metadata of the stack"}},
	}, salvage.Lost)
	aside, err := d.Reset(ctx, salvage.Snapshot, salvage.Codec)
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.NoError(t, d.Close(ctx))
	require.NoFileExists(t, file)

	stack = reopen(t, store)
	require.Equal(t, []string{"a", "b"}, namesOf(stack.Snapshot()))
	require.Equal(t, map[string]state.OperationType{"b": state.OperationDeleting, "c": state.OperationCreating}, pendingOf(stack.Snapshot()))
	secret, _ := stack.Snapshot().Resource(0)
	require.Equal(t, "hunter2 of a", mustString(t, secret))
	require.NoError(t, stack.Close(ctx))

	// A journal that is whole has nothing to salvage.
	d, err = state.OpenDamaged(ctx, store, stackName, state.Holder{})
	require.NoError(t, err)
	salvage, err = d.Salvage(ctx)
	require.NoError(t, err)
	require.Nil(t, salvage.Damage)
	require.NoError(t, d.Close(ctx))
}

func mustString(t *testing.T, r *state.Resource) string {
	t.Helper()
	secret, ok := r.Outputs.Unwrap().Get("secret").AsString()
	require.True(t, ok)
	return secret
}

// A restoration that is cut off leaves the stack damaged as before, or restored.
func TestRestoringIsWholeAtEveryOperation(t *testing.T) {
	ctx := t.Context()
	crashed, restored := true, false
	for at := 1; crashed; at++ {
		fsys := faultfs.New()
		store := filestore.NewFS(fsys)
		require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
		stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
		require.NoError(t, err)
		put(t, stack, "a")
		require.NoError(t, stack.Close(ctx))
		writeDurably(t, fsys, "stacks/proj/dev.json", `{"half":`)
		require.NoError(t, errors.Join(fsys.SyncDir("backups"), fsys.SyncDir("backups/proj")))
		begin := fsys.Ops()
		crashed = false
		fsys.Inject(func(op faultfs.Op) faultfs.Fault {
			crashed = crashed || op.N == begin+at
			return faultfs.Fault{Crash: op.N == begin+at}
		})
		backup, err := store.Backup(ctx, stackName, "1-0")
		require.NoError(t, err)
		_ = func() error {
			d, err := state.OpenDamaged(ctx, store, stackName, state.Holder{})
			if err != nil {
				return err
			}
			_, err = d.Restore(ctx, backup)
			return errors.Join(err, d.Close(ctx))
		}()
		for _, loss := range faultfs.Losses() {
			after := filestore.NewFS(fsys.Reboot(loss))
			snapshot, _, err := state.Load(ctx, after, stackName, plainKeys{}.Open)
			if err == nil {
				restored = true
				require.Empty(t, namesOf(snapshot))
				continue
			}
			require.ErrorIs(t, err, state.ErrCorrupt, "crash at %d, loss %+v", at, loss)
			_, err = after.Backup(ctx, stackName, "1-0")
			require.NoError(t, err)
		}
	}
	require.True(t, restored)
}

// An older checkpoint that was copied over the current one does not drop the changes that wait.
func TestOlderCheckpointUnderAJournalIsTold(t *testing.T) {
	dir, store := twoRuns(t)
	stack := reopen(t, store)
	put(t, stack, "c")
	require.NoError(t, store.Break(t.Context(), stackName))
	kept, err := store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	older, err := store.Backup(t.Context(), stackName, kept[0].ID)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(checkpointIn(dir), older.Checkpoint, 0o600))
	_, err = state.Open(t.Context(), store, stackName, plainKeys{}, state.Holder{})
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "it is older than the changes in "+journalFile(t, dir))

	// What the older one names is no sign of anything that is lost.
	kept, err = store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	newest, err := store.Backup(t.Context(), stackName, kept[0].ID)
	require.NoError(t, err)
	require.Len(t, newest.Records, 1)
	d, err := state.OpenDamaged(t.Context(), store, stackName, state.Holder{})
	require.NoError(t, err)
	restored, err := d.Restore(t.Context(), newest)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, namesOf(restored.Snapshot))
	require.Empty(t, restored.Unsure)
	require.NoError(t, d.Close(t.Context()))
}

// One stack, or one project, that cannot be read is nobody else's trouble.
func TestDamageIsOfOneStack(t *testing.T) {
	dir, store := twoRuns(t)
	require.NoError(t, state.Create(t.Context(), store, otherName, plainKeys{}))
	require.NoError(t, os.WriteFile(checkpointIn(dir), []byte("{"), 0o600))
	names, err := store.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []state.StackName{otherName, stackName}, names)
	stack, err := state.Open(t.Context(), store, otherName, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, stack.Close(t.Context()))
	require.NoError(t, store.Break(t.Context(), stackName), "its lock can be taken away, too")

	// A project's directory that is none.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "stacks", "proj")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "backups", "file"), nil, 0o600))
	names, err = store.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []state.StackName{otherName, stackName}, names)
}
