package filestore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

var stackName = state.StackName{Project: "proj", Name: "dev"}

// plainKeys is a source of a secrets provider that reverses text: secrets have
// ciphertexts that are the same in each run.
type plainKeys struct{}

func (plainKeys) New(context.Context) (secrets.Provider, error) { return reversing{}, nil }
func (plainKeys) Open(context.Context, string, json.RawMessage) (secrets.Provider, error) {
	return reversing{}, nil
}

type reversing struct{}

func (reversing) Type() string           { return "reversing" }
func (reversing) State() json.RawMessage { return json.RawMessage(`{}`) }
func (reversing) Encrypt(_ context.Context, s string) (string, error) {
	return reverse(s), nil
}
func (reversing) Decrypt(_ context.Context, s string) (string, error) {
	return reverse(s), nil
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func component(name string, dependencies ...string) *state.Resource {
	r := &state.Resource{URN: urn.New("dev", "proj", "", "a:b:C", name), Type: "a:b:C"}
	for _, d := range dependencies {
		r.Dependencies = append(r.Dependencies, urn.New("dev", "proj", "", "a:b:C", d))
	}
	r.Outputs = property.MapOf(map[string]property.Value{"secret": property.Secret(property.String("hunter2 of " + name))})
	return r
}

// runs are the entries of three runs, one after another.
func runs() [][]state.Entry {
	return [][]state.Entry{
		{
			{state.BeginOperation{Op: 0, Type: state.OperationCreating, Resource: component("a")}},
			{state.EndOperation{Op: 0}, state.PutResource{Serial: 0, Resource: component("a")}},
			{state.BeginOperation{Op: 1, Type: state.OperationCreating, Resource: component("b", "a")}},
			{state.PutResource{Serial: 1, Resource: component("b", "a")}, state.EndOperation{Op: 1}},
		},
		{
			{state.BeginOperation{Op: 0, Type: state.OperationUpdating, Resource: component("a")}},
			{state.EndOperation{Op: 0}, state.PutResource{Serial: 0, Resource: component("a2")}, state.PutResource{Serial: 2, Resource: component("a", "a2")}},
			{state.RemoveResource{Serial: 1}},
		},
		nil, // changes nothing
	}
}

// want is what a store may hold: the states that are right, as exports. "" is
// that of no stack.
type want struct {
	// acked is the state after the last step that succeeded.
	acked string
	// inFlight is the state after the first step since that failed, if any did.
	inFlight string
}

// script makes a stack and plays the runs on it. It goes on after errors, as far
// as it can, and keeps account of what the store must hold.
type script struct {
	t     *testing.T
	fsys  *faultfs.FS
	store *filestore.Store
	// checkFrom is the operation from which on what is stored is checked after
	// each step.
	checkFrom int
	model     *state.Snapshot
	want      want
	errs      []error
}

func play(t *testing.T, fsys *faultfs.FS, checkFrom int) *script {
	s := &script{t: t, fsys: fsys, store: filestore.NewFS(fsys), checkFrom: checkFrom}
	ctx := context.Background()
	empty := state.NewSnapshot()
	empty.Stack = stackName.Qualified()
	s.step(s.exported(empty), func() error { return state.Create(ctx, s.store, stackName, plainKeys{}) })
	s.model = empty
	for _, entries := range runs() {
		stack, err := state.Open(ctx, s.store, stackName, plainKeys{}, state.Holder{})
		if err != nil {
			s.errs = append(s.errs, err)
			continue
		}
		s.model = stack.Snapshot()
		for i, entry := range entries {
			if i == 1 { // a checkpoint in the middle of the run, of what there is
				s.step(s.exported(s.model), func() error { return stack.Replace(ctx, stack.Snapshot()) })
			}
			next := s.model.Clone()
			if next.Apply(entry) != nil {
				continue // an earlier step failed on which this one builds
			}
			if s.step(s.exported(next), func() error { return stack.Append(ctx, entry) }) == nil {
				s.model = next
			}
		}
		if err := stack.Close(ctx); err != nil {
			s.errs = append(s.errs, err)
		}
	}
	return s
}

// step does one step that leads to the state.
func (s *script) step(next string, do func() error) error {
	err := do()
	switch {
	case err == nil:
		s.want = want{acked: next, inFlight: next}
	case s.want.acked == s.want.inFlight:
		s.want.inFlight = next
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
	if s.fsys.Ops() >= s.checkFrom {
		s.requireRight(s.stored(filestore.NewFS(s.fsys.Reboot(faultfs.Loss{}))), "after a step")
	}
	return err
}

// requireRight checks that a state is that before or after the step in flight.
func (s *script) requireRight(got, when string) {
	s.t.Helper()
	if got != s.want.acked && got != s.want.inFlight {
		require.Failf(s.t, "neither the state before nor after", "%s: got\n%s\nacknowledged\n%s\nin flight\n%s\nerrors %v",
			when, got, s.want.acked, s.want.inFlight, s.errs)
	}
}

// exported returns what the states of one history differ in.
func (s *script) exported(snapshot *state.Snapshot) string {
	c := snapshot.Clone()
	c.Manifest = state.Manifest{}
	c.Secrets = state.SecretsProvider{}
	out, err := state.NewCodec(reversing{}).EncodeExport(context.Background(), c, false)
	require.NoError(s.t, err)
	return string(out)
}

// stored returns the state that a store holds, "" where it has no such stack.
func (s *script) stored(store *filestore.Store) string {
	snapshot, _, err := state.Load(context.Background(), store, stackName, plainKeys{}.Open)
	if errors.Is(err, state.ErrStackNotFound) {
		return ""
	}
	require.NoError(s.t, err)
	return s.exported(snapshot)
}

// requireUsable checks that the next run can go on from what it finds.
func (s *script) requireUsable(fsys *faultfs.FS) {
	ctx, store := context.Background(), filestore.NewFS(fsys)
	if s.stored(store) == "" {
		require.NoError(s.t, state.Create(ctx, store, stackName, plainKeys{}))
	}
	before := s.stored(store)
	stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
	require.NoError(s.t, err)
	require.Equal(s.t, before, s.exported(stack.Snapshot()))
	require.NoError(s.t, stack.Append(ctx, state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: component("next")}}))
	after := s.exported(stack.Snapshot())
	require.NoError(s.t, stack.Close(ctx))
	require.Equal(s.t, after, s.stored(store))
	require.Contains(s.t, after, "next")
}

// operations returns the operations of the script when nothing fails.
func operations(t *testing.T) []faultfs.Op {
	fsys := faultfs.New()
	var ops []faultfs.Op
	fsys.Inject(func(op faultfs.Op) faultfs.Fault { ops = append(ops, op); return faultfs.Fault{} })
	s := play(t, fsys, 1)
	require.Empty(t, s.errs)
	require.Equal(t, s.want.acked, s.stored(s.store))
	require.Contains(t, s.want.acked, "a2")
	require.NotContains(t, s.want.acked, "hunter2")
	require.Greater(t, len(ops), 50)
	return ops
}

// A process that is killed, or a machine that loses power, at any operation on
// the disk, whole or half done, leaves the state before or after the step that
// was going on, and a store that the next run works with.
func TestCrashAtEveryOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("crashes at each of thousands of operations")
	}
	t.Parallel()
	for _, crash := range operations(t) {
		for _, partial := range []bool{false, true} {
			if partial && crash.Kind != "write" {
				continue
			}
			fsys := faultfs.New()
			fsys.Inject(func(op faultfs.Op) faultfs.Fault {
				return faultfs.Fault{Crash: op.N == crash.N, Partial: partial}
			})
			s := play(t, fsys, math.MaxInt)
			for _, loss := range faultfs.Losses() {
				after := fsys.Reboot(loss)
				s.requireRight(s.stored(filestore.NewFS(after)), fmt.Sprintf("crash at %+v (partial %v), loss %+v", crash, partial, loss))
				s.requireUsable(after)
			}
		}
	}
}

// An operation that fails once fails its step alone, and the state is that of the
// steps that succeeded; after a sync that failed, the step may have taken effect.
func TestErrorAtEveryOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("fails each of thousands of operations")
	}
	t.Parallel()
	ops := operations(t)
	for _, errno := range []error{syscall.ENOSPC, syscall.EIO} {
		for _, failing := range ops {
			fsys := faultfs.New()
			fsys.Inject(func(op faultfs.Op) faultfs.Fault {
				if op.N != failing.N {
					return faultfs.Fault{}
				}
				return faultfs.Fault{Err: errno, Partial: true}
			})
			s := play(t, fsys, failing.N)
			for _, err := range s.errs {
				if errors.Is(err, errno) && errno == syscall.ENOSPC && !strings.Contains(err.Error(), "did not confirm") {
					require.ErrorIs(t, err, state.ErrNoSpace, "%+v", failing)
				}
			}
			s.requireRight(s.stored(filestore.NewFS(fsys.Reboot(faultfs.Loss{}))), fmt.Sprintf("%v at %+v", errno, failing))
			s.requireUsable(fsys.Reboot(faultfs.Loss{}))
		}
	}
}

// A writer that is paused at any operation, loses its lease to another that
// writes, and wakes, either was in time, and the other saw what it wrote, or is
// told that it was fenced. Nothing of the other's is lost.
func TestPausedWriterAtEveryOperation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	entry := func(name string, serial state.Serial) state.Entry {
		return state.Entry{state.PutResource{Serial: serial, Resource: component(name)}}
	}
	for _, other := range []string{"appends", "closes"} {
		for at := 1; ; at++ {
			fsys := faultfs.New()
			store := filestore.NewFS(fsys).ShortenGuard()
			require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
			slow, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
			require.NoError(t, err)

			var seen, left string
			begin, paused := fsys.Ops(), false
			fsys.Inject(func(op faultfs.Op) faultfs.Fault {
				if op.N != begin+at {
					return faultfs.Fault{}
				}
				paused = true
				fsys.Inject(nil)
				require.NoError(t, store.Break(ctx, stackName))
				fast, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
				require.NoError(t, err)
				seen = export(t, fast.Snapshot())
				require.NoError(t, fast.Append(ctx, entry("fast", 7)))
				left = export(t, fast.Snapshot())
				if other == "closes" {
					require.NoError(t, fast.Close(ctx))
				}
				return faultfs.Fault{}
			})
			errs := []error{slow.Append(ctx, entry("slow1", 1)), slow.Append(ctx, entry("slow2", 2)), slow.Close(ctx)}
			if !paused {
				require.Greater(t, at, 8)
				break
			}
			for i, err := range errs {
				if err != nil {
					require.ErrorIs(t, errors.Join(errs...), state.ErrFenced, "pause at %d", at)
				} else if i < 2 {
					require.Contains(t, seen, fmt.Sprintf("slow%d", i+1), "pause at %d: what was acknowledged is there", at)
				}
			}
			snapshot, _, err := state.Load(ctx, store, stackName, plainKeys{}.Open)
			require.NoError(t, err, "pause at %d", at)
			require.Equal(t, left, export(t, snapshot), "pause at %d (the other %s)", at, other)
			requireBackups(t, store, at)
		}
	}
}

// requireBackups requires that each backup is the checkpoint that it is named after.
func requireBackups(t *testing.T, store *filestore.Store, at int) {
	t.Helper()
	kept, err := store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	for _, info := range kept {
		data, err := store.Backup(t.Context(), stackName, info.ID)
		require.NoError(t, err)
		token, sequence, _ := strings.Cut(info.ID, "-")
		require.Contains(t, string(data.Checkpoint), fmt.Sprintf(`"sequence":%s,"token":%s,`, sequence, token), "pause at %d", at)
	}
}

func export(t *testing.T, s *state.Snapshot) string { return (&script{t: t}).exported(s) }
