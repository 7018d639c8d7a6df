package state_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
	"github.com/husk-dev/husk/engine/state/memstore"
)

var stackName = state.StackName{Project: "proj", Name: "dev"}

func newStack(t testing.TB) (state.Store, *state.Stack) {
	store := new(memstore.Store)
	require.NoError(t, state.Create(t.Context(), store, stackName, B64Keys))
	return store, openStack(t, store)
}

func openStack(t testing.TB, store state.Store) *state.Stack {
	stack, err := state.Open(t.Context(), store, stackName, B64Keys, state.Holder{})
	require.NoError(t, err)
	return stack
}

func withSecret(r *state.Resource, secret string) *state.Resource {
	return Changed(r, func(r *state.Resource) {
		r.Outputs = property.MapOf(map[string]property.Value{"s": property.Secret(property.String(secret))})
	})
}

func TestStackLife(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.Equal(t, stackName, stack.Name())
	require.Zero(t, stack.Snapshot().Len())
	require.Zero(t, stack.Len())
	require.Equal(t, "organization/proj/dev", stack.Snapshot().Stack)
	require.Equal(t, "b64", stack.Snapshot().Secrets.Type)

	op, serial := stack.NextOp(), stack.NextSerial()
	require.NoError(t, stack.Append(ctx, state.Entry{state.BeginOperation{Op: op, Type: state.OperationCreating, Resource: Provider()}}))
	require.NoError(t, stack.Append(ctx, state.Entry{state.EndOperation{Op: op}, state.PutResource{Serial: serial, Resource: Provider()}}))
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: withSecret(Custom("y", Custom("x").URN), "hunter2")}}))
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: Custom("x")}}))
	before := stack.Snapshot()
	require.Equal(t, before.Len(), stack.Len())
	require.NoError(t, before.Verify())
	require.NoError(t, stack.Close(ctx))
	require.NoError(t, stack.Close(ctx), "again")
	require.ErrorIs(t, stack.Append(ctx, state.Entry{}), state.ErrClosed)

	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Empty(t, contents.Records)
	require.NotContains(t, string(contents.Checkpoint), "hunter2")

	stack = openStack(t, store)
	require.Equal(t, []string{"default", "x", "y"}, Names(Resources(stack.Snapshot())), "the checkpoint is in order")
	require.EqualValues(t, 3, stack.NextSerial())
	require.EqualValues(t, 0, stack.NextOp())
	require.Equal(t, property.Secret(property.String("hunter2")), Resources(stack.Snapshot())[2].Outputs.Get("s"))
	require.NoError(t, stack.Close(ctx))
}

// TestClosingWith has who ends the lease of a stack wait for others that still read it.
func TestClosingWith(t *testing.T) {
	store, stack := newStack(t)
	require.NoError(t, stack.Append(t.Context(), state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: Provider()}}))
	failed := errors.New("failed")
	err := stack.CloseWith(t.Context(), func(l state.Lease, err error) error {
		require.NoError(t, err)
		contents, err := store.Load(t.Context(), stackName)
		require.NoError(t, err)
		require.Empty(t, contents.Records, "the state is saved")
		read := make(chan int)
		go func() { read <- stack.Len() }()
		require.Equal(t, 1, <-read)
		return errors.Join(failed, l.Release(t.Context()))
	})
	require.ErrorIs(t, err, failed)
	require.NoError(t, stack.CloseWith(t.Context(), func(state.Lease, error) error { return failed }), "it is closed already")
	require.NoError(t, openStack(t, store).Close(t.Context()))
}

func TestSnapshotsOfAStackAreApart(t *testing.T) {
	_, stack := newStack(t)
	before := stack.Snapshot()
	require.NoError(t, stack.Append(t.Context(), state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: Custom("x")}}))
	require.Zero(t, before.Len())
	mine := stack.Snapshot()
	require.NoError(t, mine.Apply(state.Entry{state.RemoveResource{Serial: 0}}))
	require.Equal(t, 1, stack.Snapshot().Len())
	require.NoError(t, stack.Close(t.Context()))
}

func TestUnfinishedRunIsReplayed(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Append(ctx, everyChangeOn(stack)))
	want := Export(t, stack.Snapshot())
	require.NoError(t, store.Break(ctx, stackName))
	require.ErrorIs(t, stack.Append(ctx, state.Entry{}), state.ErrFenced)
	require.NoError(t, stack.Close(ctx), "a fenced run has nothing left to write")

	snapshot, _, err := state.Load(ctx, store, stackName, B64Keys.Open)
	require.NoError(t, err)
	require.Equal(t, want, Export(t, snapshot))
	stack = openStack(t, store)
	require.Equal(t, 1, stack.Recovery().Records)
	require.Equal(t, want, Export(t, stack.Snapshot()))
	require.Greater(t, uint64(stack.NextSerial()), uint64(12), "serials go on behind those of the journal")
	require.Greater(t, uint64(stack.NextOp()), uint64(7))
	require.NoError(t, stack.Append(ctx, state.Entry{state.EndOperation{Op: 7}}))
	require.NoError(t, stack.Close(ctx))
	stack = openStack(t, store)
	require.Equal(t, state.Recovery{}, stack.Recovery())
	for range stack.Snapshot().Operations() {
		require.Fail(t, "the operation was ended")
	}
	require.NoError(t, stack.Close(ctx))
}

// standing is a resource that needs no other.
func standing(name string) *state.Resource {
	return &state.Resource{URN: urn.New("dev", "proj", "", "a:b:C", name), Type: "a:b:C"}
}

// Two stacks are replaced together, or none is.
func TestReplaceBoth(t *testing.T) {
	ctx := t.Context()
	store, first := newStack(t)
	otherName := state.StackName{Project: "other", Name: "prod"}
	require.NoError(t, state.Create(ctx, store, otherName, B64Keys))
	second, err := state.Open(ctx, store, otherName, B64Keys, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, first.Append(ctx, everyChangeOn(first)))
	require.NoError(t, state.ReplaceBoth(ctx, first, state.NewSnapshot(standing("kept")), second, state.NewSnapshot(standing("moved"))))
	require.Equal(t, []string{"kept"}, Names(Resources(first.Snapshot())))
	require.Equal(t, []string{"moved"}, Names(Resources(second.Snapshot())))
	require.EqualValues(t, 1, first.NextSerial(), "serials are numbered anew")
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Empty(t, contents.Records, "the journal is dropped")

	require.NoError(t, second.Close(ctx))
	require.ErrorIs(t, state.ReplaceBoth(ctx, first, state.NewSnapshot(), second, state.NewSnapshot()), state.ErrClosed)
	require.Error(t, state.ReplaceBoth(ctx, second, state.NewSnapshot(), first, state.NewSnapshot()))
	require.NoError(t, store.Break(ctx, stackName))
	second, err = state.Open(ctx, store, otherName, B64Keys, state.Holder{})
	require.NoError(t, err)
	require.ErrorIs(t, state.ReplaceBoth(ctx, first, state.NewSnapshot(), second, state.NewSnapshot()), state.ErrFenced)
	require.Equal(t, []string{"moved"}, Names(Resources(second.Snapshot())))
	for name, want := range map[state.StackName]string{stackName: "kept", otherName: "moved"} {
		snapshot, _, err := state.Load(ctx, store, name, B64Keys.Open)
		require.NoError(t, err)
		require.Equal(t, []string{want}, Names(Resources(snapshot)))
		require.Equal(t, name.Qualified(), snapshot.Stack)
	}
	require.NoError(t, second.Close(ctx))
}

// everyChangeOn is [EveryChange] for a stack without resources.
func everyChangeOn(*state.Stack) state.Entry {
	return append(state.Entry{
		state.PutResource{Serial: 0, Resource: Provider()}, state.PutResource{Serial: 1, Resource: Custom("x")},
	}, EveryChange()...)
}

func TestSealedReadingNeedsNoKey(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Append(ctx, everyChangeOn(stack)))
	exported, err := stack.Codec().EncodeExport(ctx, stack.Snapshot(), false)
	require.NoError(t, err)
	snapshot, codec, err := state.Load(ctx, store, stackName, nil)
	require.NoError(t, err)
	out, err := codec.EncodeExport(ctx, snapshot, false)
	require.NoError(t, err)
	require.Equal(t, string(exported), string(out))
	require.NoError(t, stack.Close(ctx))
}

func TestWrongPassphraseOpensNothing(t *testing.T) {
	ctx := t.Context()
	phrase := func(p string) secrets.Keys {
		return secrets.Keys{LookupEnv: func(name string) (string, bool) { return p, name == "HUSK_CONFIG_PASSPHRASE" }}
	}
	store := new(memstore.Store)
	require.NoError(t, state.Create(ctx, store, stackName, phrase("right")))
	stack, err := state.Open(ctx, store, stackName, phrase("wrong"), state.Holder{})
	require.NoError(t, err, "a state without secrets needs no passphrase")
	err = stack.Append(ctx, state.Entry{state.PutResource{Serial: 0, Resource: withSecret(Custom("x"), "hunter2")}})
	require.ErrorIs(t, err, secrets.ErrWrongKey, "nothing is encrypted with a wrong one")
	require.NoError(t, stack.Close(ctx))

	stack, err = state.Open(ctx, store, stackName, phrase("right"), state.Holder{})
	require.NoError(t, err)
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: 0, Resource: withSecret(Custom("x"), "hunter2")}}))
	require.NoError(t, stack.Close(ctx))
	before, err := store.Load(ctx, stackName)
	require.NoError(t, err)

	_, err = state.Open(ctx, store, stackName, phrase("wrong"), state.Holder{})
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.NotErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "HUSK_CONFIG_PASSPHRASE")
	after, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Equal(t, before, after)
	stack, err = state.Open(ctx, store, stackName, phrase("right"), state.Holder{})
	require.NoError(t, err, "the failed run left no lock")
	require.Equal(t, property.Secret(property.String("hunter2")), Resources(stack.Snapshot())[0].Outputs.Get("s"))
	require.NoError(t, stack.Close(ctx))
}

func TestDamagedContentsAreTold(t *testing.T) {
	ctx := t.Context()
	for name, record := range map[string]string{
		"not JSON":               "{",
		"of another checkpoint":  `[[{"remove":{"serial":7}}]]`,
		"operation never begun":  `[[{"end":{"op":7}}]]`,
		"secret of another kind": `[[{"put":{"serial":0,"resource":{"urn":"u","type":"t","inputs":{"a":{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"%"}}}}}]]`,
	} {
		t.Run(name, func(t *testing.T) {
			store, stack := newStack(t)
			require.NoError(t, stack.Close(ctx))
			lease, err := store.Lease(ctx, stackName, state.Holder{})
			require.NoError(t, err)
			require.NoError(t, lease.Append(ctx, 1, []byte(record)))
			require.NoError(t, lease.Release(ctx))
			_, err = state.Open(ctx, store, stackName, B64Keys, state.Holder{})
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.ErrorContains(t, err, "record 1")
			_, err = state.Open(ctx, store, stackName, B64Keys, state.Holder{})
			require.NotErrorIs(t, err, state.ErrLocked)
		})
	}
}

func TestBadEntriesAreRefusedAlone(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	for _, bad := range []state.Entry{
		{state.EndOperation{Op: 3}},
		{state.PutResource{Serial: 0}},
		{state.PutResource{Serial: 0, Resource: Custom("x")}, state.RemoveResource{Serial: 8}},
		{nil},
	} {
		var e *state.EntryError
		require.True(t, errors.As(stack.Append(ctx, bad), &e))
	}
	invalid := Changed(Custom("x"), func(r *state.Resource) { r.ID = "\xff" })
	var e *state.EncodeError
	require.True(t, errors.As(stack.Append(ctx, state.Entry{state.PutResource{Serial: 0, Resource: invalid}}), &e))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, stack.Append(cancelled, state.Entry{}), context.Canceled)

	require.Zero(t, stack.Snapshot().Len())
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: 0, Resource: Custom("x")}}))
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Len(t, contents.Records, 1)
	require.NoError(t, stack.Close(ctx))
}

// Entries that are appended while the disk is busy are made durable together.
func TestEntriesAreWrittenInGroups(t *testing.T) {
	const n = 200
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, state.Create(t.Context(), store, stackName, B64Keys))
	stack := openStack(t, store)

	// The first sync of the journal lasts until all others wait.
	var syncs, waiting atomic.Int32
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.Kind == "sync" && strings.HasSuffix(op.Name, ".journal") && syncs.Add(1) == 1 {
			for waiting.Load() < n {
			}
		}
		return faultfs.Fault{}
	})
	var wg sync.WaitGroup
	var failed atomic.Int32
	for range n {
		wg.Go(func() {
			entry := state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: Custom("x")}}
			waiting.Add(1)
			if stack.Append(context.Background(), entry) != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, failed.Load())
	require.Less(t, syncs.Load(), int32(n/4))
	require.Equal(t, n, stack.Snapshot().Len())
	fsys.Inject(nil)
	after, _, err := state.Load(t.Context(), filestore.NewFS(fsys.Reboot(faultfs.Loss{Names: true, Data: faultfs.LoseData})), stackName, B64Keys.Open)
	require.NoError(t, err)
	require.Equal(t, n, after.Len())
	require.NoError(t, stack.Close(t.Context()))
}

// Entries that are appended together are one record, and each has its own error.
func TestEntriesAreAppendedTogether(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	put := func(serial state.Serial, name string) state.Entry {
		return state.Entry{state.PutResource{Serial: serial, Resource: Custom(name)}}
	}
	errs := stack.AppendAll(ctx, put(0, "x"), state.Entry{state.RemoveResource{Serial: 7}}, state.Entry{state.PutResource{Serial: 8}}, put(1, "y"))
	require.Len(t, errs, 4)
	require.NoError(t, errs[0])
	for _, err := range errs[1:3] {
		var misfit *state.EntryError
		require.ErrorAs(t, err, &misfit)
	}
	require.NoError(t, errs[3])
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Len(t, contents.Records, 1)
	require.Equal(t, []string{"x", "y"}, Names(Resources(stack.Snapshot())))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range stack.AppendAll(cancelled, put(2, "z"), put(3, "z")) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, stack.Close(ctx))
	for _, err := range stack.AppendAll(ctx, put(2, "z"), put(3, "z")) {
		require.ErrorIs(t, err, state.ErrClosed)
	}
}

// Entries that are appended while the stack is closed are saved, or refused.
func TestCloseWhileAppending(t *testing.T) {
	store, stack := newStack(t)
	var saved sync.Map
	var wg sync.WaitGroup
	started := make(chan bool, 100)
	errs := make(chan error, 100)
	for range 100 {
		wg.Go(func() {
			serial := stack.NextSerial()
			entry := state.Entry{state.PutResource{Serial: serial, Resource: Custom(fmt.Sprint(serial))}}
			started <- true
			if err := stack.Append(context.Background(), entry); err != nil {
				errs <- err
				return
			}
			saved.Store(fmt.Sprint(serial), true)
		})
	}
	for range 50 {
		<-started
	}
	require.NoError(t, stack.Close(t.Context()))
	wg.Wait()
	close(errs)
	for err := range errs {
		require.ErrorIs(t, err, state.ErrClosed)
	}
	snapshot, _, err := state.Load(t.Context(), store, stackName, B64Keys.Open)
	require.NoError(t, err)
	stored := Names(Resources(snapshot))
	saved.Range(func(name, _ any) bool { require.Contains(t, stored, name); return true })
	count := 0
	saved.Range(func(any, any) bool { count++; return true })
	require.Len(t, stored, count)
}

// What a step writes does not grow with the stack.
func TestCostOfAStepIsConstant(t *testing.T) {
	cost := func(size int) int64 {
		all := make([]*state.Resource, size)
		for i := range all {
			all[i] = withSecret(Custom(fmt.Sprintf("resource-%06d", i)), "hunter2")
		}
		fsys := faultfs.New()
		store := filestore.NewFS(fsys)
		require.NoError(t, state.Create(t.Context(), store, stackName, B64Keys))
		stack := openStack(t, store)
		require.NoError(t, stack.Replace(t.Context(), state.NewSnapshot(append(all, Provider())...)))
		require.Equal(t, size+1, stack.Snapshot().Len())
		before := fsys.Written()
		for range 10 {
			op := stack.NextOp()
			require.NoError(t, stack.Append(t.Context(), state.Entry{state.BeginOperation{Op: op, Type: state.OperationUpdating, Resource: all[0]}}))
			require.NoError(t, stack.Append(t.Context(), state.Entry{state.EndOperation{Op: op}, state.PutResource{Serial: 3, Resource: all[0]}}))
		}
		written := fsys.Written() - before
		require.NoError(t, stack.Close(t.Context()))
		return written
	}
	require.Equal(t, cost(10), cost(10_000))
}

func TestReplace(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Append(ctx, everyChangeOn(stack)))
	imported, _, err := state.Decode(ctx, FullExport, OpenB64)
	require.NoError(t, err)
	require.NoError(t, stack.Replace(ctx, imported))
	require.Equal(t, "organization/proj/dev", stack.Snapshot().Stack)
	require.EqualValues(t, 6, stack.NextSerial())
	require.EqualValues(t, 2, stack.NextOp())
	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Empty(t, contents.Records)

	require.NoError(t, stack.Append(ctx, state.Entry{state.RemoveResource{Serial: 4}, state.EndOperation{Op: 1}}))
	want := Export(t, stack.Snapshot())
	require.NoError(t, store.Break(ctx, stackName))
	again, _, err := state.Load(ctx, store, stackName, B64Keys.Open)
	require.NoError(t, err)
	require.Equal(t, want, Export(t, again), "serials in the journal are those of the new checkpoint")
}

// A replaced snapshot may be in any order; its serials are those of the
// checkpoint that holds it.
func TestReplaceNumbersInTheOrderOfTheCheckpoint(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Replace(ctx, state.NewSnapshot(Custom("y", Custom("x").URN), Custom("x"), Provider())))
	require.Equal(t, []string{"default", "x", "y"}, Names(Resources(stack.Snapshot())))
	require.NoError(t, stack.Append(ctx, state.Entry{state.RemoveResource{Serial: 2}}))
	require.NoError(t, store.Break(ctx, stackName))
	again, _, err := state.Load(ctx, store, stackName, B64Keys.Open)
	require.NoError(t, err)
	require.Equal(t, []string{"default", "x"}, Names(Resources(again)))
}

func TestChangeSecrets(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: 0, Resource: withSecret(Custom("x"), "hunter2")}}))
	next := Numbered{B64: B64(`{"next":true}`), N: new(atomic.Int64)}
	require.NoError(t, stack.ChangeSecrets(ctx, next))
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: 1, Resource: withSecret(Custom("y"), "hunter3")}}))
	require.EqualValues(t, 2, next.N.Load())
	require.NoError(t, stack.Close(ctx))
	require.EqualValues(t, 2, next.N.Load(), "unchanged secrets keep their ciphertext")

	contents, err := store.Load(ctx, stackName)
	require.NoError(t, err)
	require.Contains(t, string(contents.Checkpoint), `"state":{"next":true}`)
	require.Contains(t, string(contents.Checkpoint), `"ciphertext":"1:`)
	snapshot, _, err := state.Load(ctx, store, stackName, Keys{Provider: next}.Open)
	require.NoError(t, err)
	require.Equal(t, property.Secret(property.String("hunter2")), Resources(snapshot)[0].Outputs.Get("s"))
}

func TestStateWithoutProviderGetsOne(t *testing.T) {
	ctx := t.Context()
	store := new(memstore.Store)
	require.NoError(t, store.Create(ctx, stackName, []byte(`{"version":3,"checkpoint":{"stack":"s","latest":{"resources":[{"urn":"u","type":"t"}]}}}`)))
	stack := openStack(t, store)
	require.Equal(t, "b64", stack.Snapshot().Secrets.Type)
	require.NoError(t, stack.Append(ctx, state.Entry{state.PutResource{Serial: 1, Resource: withSecret(Custom("x"), "hunter2")}}))
	require.NoError(t, stack.Close(ctx))
	stack = openStack(t, store)
	require.Equal(t, 2, stack.Snapshot().Len())
	require.NoError(t, stack.Close(ctx))
}

// Once a sync has failed, nobody knows what is on the disk: nothing more is
// written, and every caller hears of it.
func TestFailedSyncEndsTheRun(t *testing.T) {
	ctx := t.Context()
	fsys := faultfs.New()
	store := filestore.NewFS(fsys)
	require.NoError(t, state.Create(ctx, store, stackName, B64Keys))
	stack := openStack(t, store)
	put := func(s state.Serial) error {
		return stack.Append(ctx, state.Entry{state.PutResource{Serial: s, Resource: Custom(fmt.Sprint("r", s))}})
	}
	require.NoError(t, put(0))
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.Kind == "sync" {
			return faultfs.Fault{Err: syscall.EIO}
		}
		return faultfs.Fault{}
	})
	require.ErrorIs(t, put(1), syscall.EIO)
	fsys.Inject(nil)
	ops := fsys.Ops()
	require.ErrorIs(t, put(2), syscall.EIO)
	require.Equal(t, ops, fsys.Ops(), "nothing is written")
	require.Equal(t, 1, stack.Snapshot().Len())
	require.NoError(t, stack.Close(ctx))
	after, _, err := state.Load(ctx, filestore.NewFS(fsys.Reboot(faultfs.Loss{Data: faultfs.LoseData})), stackName, B64Keys.Open)
	require.NoError(t, err)
	require.Equal(t, 1, after.Len())
}

func TestCycleIsWrittenAllTheSame(t *testing.T) {
	ctx := t.Context()
	store, stack := newStack(t)
	require.NoError(t, stack.Append(ctx, state.Entry{
		state.PutResource{Serial: 0, Resource: Custom("x", Custom("y").URN)},
		state.PutResource{Serial: 1, Resource: Custom("y", Custom("x").URN)},
	}))
	require.NoError(t, stack.Close(ctx))
	stack = openStack(t, store)
	require.Equal(t, 2, stack.Snapshot().Len(), "a broken state is better than a lost one")
	require.ErrorContains(t, stack.Snapshot().Verify(), "depend on each other")
	require.NoError(t, stack.Close(ctx))
}
