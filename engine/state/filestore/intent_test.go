package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

var otherName = state.StackName{Project: "other", Name: "prod"}

// stackHolding makes a stack that has one resource, a history, and what a provider keeps.
func stackHolding(t *testing.T, fsys *faultfs.FS, name state.StackName, resource string) {
	t.Helper()
	store := filestore.NewFS(fsys)
	if err := state.Create(t.Context(), store, name, plainKeys{}); !errors.Is(err, state.ErrStackExists) {
		require.NoError(t, err)
	}
	stack, err := state.Open(t.Context(), store, name, plainKeys{}, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, stack.Append(t.Context(), state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: component(resource)}}))
	require.NoError(t, store.SetHistory(t.Context(), name, [][]byte{[]byte(`{"kind":"` + resource + `"}`)}))
	require.NoError(t, stack.Close(t.Context()))
	writeDurably(t, fsys, valuesOf(name), resource)
	writeDurably(t, fsys, recordOf(name), resource)
}

// recordOf is the record of a deployment of the stack.
func recordOf(name state.StackName) string {
	return path.Join("runs", name.Project, name.Name, "first.jsonl")
}

// valuesOf is a file in which the stack's providers keep values.
func valuesOf(name state.StackName) string {
	return path.Join("kv", name.Project, name.Name, "lab.json")
}

func writeDurably(t *testing.T, fsys *faultfs.FS, name, contents string) {
	t.Helper()
	require.NoError(t, fsys.MkdirAll(path.Dir(name), 0o700))
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	_, err = f.Write([]byte(contents))
	require.NoError(t, err)
	require.NoError(t, errors.Join(f.Sync(), f.Close()))
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		require.NoError(t, fsys.SyncDir(dir))
		if dir == "." {
			return
		}
	}
}

// whole is what the stores of a test hold: each stack with its resources, its history, what its
// providers keep, and the record of a deployment.
func whole(t *testing.T, fsys *faultfs.FS) string {
	t.Helper()
	store := filestore.NewFS(fsys)
	names, err := store.List(t.Context())
	require.NoError(t, err)
	var out strings.Builder
	for _, name := range names {
		snapshot, _, err := state.Load(t.Context(), store, name, plainKeys{}.Open)
		require.NoError(t, err)
		require.Equal(t, name.Qualified(), snapshot.Stack)
		history, err := store.History(t.Context(), name)
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s:", name)
		for _, r := range snapshot.Resources() {
			fmt.Fprintf(&out, " %s", r.URN.Name())
		}
		fmt.Fprintf(&out, "; history %s; values %s; record %s\n", history, readAt(fsys, valuesOf(name)), readAt(fsys, recordOf(name)))
	}
	return out.String()
}

func readAt(fsys *faultfs.FS, name string) string {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "none"
	}
	data := make([]byte, 1000)
	n, _ := f.Read(data)
	return string(data[:n])
}

// steps change several files at once.
var steps = map[string]struct {
	take  func(ctx context.Context, store *filestore.Store) error
	after string
}{
	"rename": {
		func(ctx context.Context, store *filestore.Store) error {
			stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
			if err != nil {
				return err
			}
			to := state.StackName{Project: "new", Name: "name"}
			return errors.Join(stack.Rename(ctx, to, stack.Snapshot()), stack.Close(ctx))
		},
		"new/name: a; history [{\"kind\":\"a\"}]; values a; record a\nother/prod: b; history [{\"kind\":\"b\"}]; values b; record b\n",
	},
	"move": {
		func(ctx context.Context, store *filestore.Store) error {
			source, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
			if err != nil {
				return err
			}
			target, err := state.Open(ctx, store, otherName, plainKeys{}, state.Holder{})
			if err != nil {
				return errors.Join(err, source.Close(ctx))
			}
			into := target.Snapshot()
			into.Add(component("a"))
			empty := state.NewSnapshot()
			return errors.Join(state.ReplaceBoth(ctx, source, empty, target, into), source.Close(ctx), target.Close(ctx))
		},
		"other/prod: b a; history [{\"kind\":\"b\"}]; values b; record b\nproj/dev:; history [{\"kind\":\"a\"}]; values a; record a\n",
	},
	"remove": {
		func(ctx context.Context, store *filestore.Store) error {
			lease, err := store.Lease(ctx, stackName, state.Holder{})
			if err != nil {
				return err
			}
			return errors.Join(lease.Remove(ctx), lease.Release(ctx))
		},
		"other/prod: b; history [{\"kind\":\"b\"}]; values b; record b\n",
	},
}

const beforeSteps = "other/prod: b; history [{\"kind\":\"b\"}]; values b; record b\nproj/dev: a; history [{\"kind\":\"a\"}]; values a; record a\n"

// twoStacks returns a disk with two stacks.
func twoStacks(t *testing.T) *faultfs.FS {
	fsys := faultfs.New()
	stackHolding(t, fsys, stackName, "a")
	stackHolding(t, fsys, otherName, "b")
	for _, dir := range []string{".", "stacks", "backups", "backups/proj", "backups/other", "locks", "locks/proj", "locks/other", "history"} {
		require.NoError(t, fsys.SyncDir(dir))
	}
	require.Equal(t, beforeSteps, whole(t, fsys))
	return fsys
}

// A process that is killed, or a machine that loses power, at any operation of a step that changes
// two stacks, or a stack and what is beside it, leaves all as it was before or as it is after. That
// is so for who reads next, for who takes the lease next, and for good.
func TestStepsAreWholeAtEveryOperation(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 4
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			took, crashed := false, true
			for at := 1; crashed; at += stride {
				fsys := twoStacks(t)
				begin := fsys.Ops()
				crashed = false
				fsys.Inject(func(op faultfs.Op) faultfs.Fault {
					crashed = crashed || op.N == begin+at
					return faultfs.Fault{Crash: op.N == begin+at}
				})
				err := step.take(t.Context(), filestore.NewFS(fsys))
				require.True(t, crashed || err == nil, "%v", err)
				for _, loss := range faultfs.Losses() {
					when := fmt.Sprintf("crash at %d, loss %+v", at, loss)
					for _, first := range []string{"a reader", "a holder of the lease"} {
						after := fsys.Reboot(loss)
						if first == "a holder of the lease" {
							for _, name := range []state.StackName{stackName, otherName} {
								lease, err := filestore.NewFS(after).Lease(t.Context(), name, state.Holder{})
								if !errors.Is(err, state.ErrStackNotFound) {
									require.NoError(t, err, when)
									_, err = lease.Load(t.Context())
									require.NoError(t, err, when)
									require.NoError(t, lease.Release(t.Context()))
								}
							}
						}
						got := whole(t, after)
						if got != beforeSteps {
							require.Equal(t, step.after, got, "%s, then %s", when, first)
							took = true
						}
						requireNoTraces(t, after)
						require.Equal(t, got, whole(t, after.Reboot(faultfs.Loss{Names: true, Data: faultfs.LoseData})), "%s, then %s", when, first)
					}
				}
			}
			require.True(t, took)
		})
	}
}

// requireNoTraces requires that no step is under way.
func requireNoTraces(t *testing.T, fsys *faultfs.FS) {
	t.Helper()
	left, err := fsys.ReadDir("intents")
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	for _, e := range left {
		require.True(t, strings.HasSuffix(e.Name(), ".tmp"), "%s was not finished", e.Name())
	}
}

// An operation that fails leaves all as it was before, or as it is after, at once or as soon as the
// stacks are used again.
func TestStepsAreWholeAfterEveryError(t *testing.T) {
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := true
			for at := 1; failed; at++ {
				fsys := twoStacks(t)
				begin := fsys.Ops()
				failed = false
				fsys.Inject(func(op faultfs.Op) faultfs.Fault {
					if op.N != begin+at {
						return faultfs.Fault{}
					}
					failed = true
					return faultfs.Fault{Err: syscall.EIO, Partial: true}
				})
				err := step.take(t.Context(), filestore.NewFS(fsys))
				fsys.Inject(nil)
				got := whole(t, fsys)
				if err == nil {
					require.Equal(t, step.after, got, "error at %d", at)
				} else if got != beforeSteps {
					require.Equal(t, step.after, got, "error at %d: %v", at, err)
				}
				for _, dir := range []string{"stacks/proj", "stacks/other", "stacks/new"} {
					left, _ := fsys.ReadDir(dir) // if it was made
					for _, e := range left {
						require.NotContains(t, e.Name(), ".tmp", "error at %d: %v", at, err)
					}
				}
			}
		})
	}
}

// A holder that is paused at any operation of a step, and loses one of its leases to another who
// writes, has taken the step before, or does not take it any more. Nothing of the other's is lost.
func TestStepsOfAPausedHolder(t *testing.T) {
	for name, step := range steps {
		for _, lost := range []state.StackName{stackName, otherName} {
			t.Run(name+", losing "+lost.String(), func(t *testing.T) {
				t.Parallel()
				paused := true
				for at := 1; paused; at++ {
					fsys := twoStacks(t)
					store := filestore.NewFS(fsys).ShortenGuard()
					begin := fsys.Ops()
					paused = false
					there := false
					fsys.Inject(func(op faultfs.Op) faultfs.Fault {
						if op.N != begin+at {
							return faultfs.Fault{}
						}
						paused = true
						fsys.Inject(nil)
						require.NoError(t, store.Break(t.Context(), lost))
						stack, err := state.Open(t.Context(), store, lost, plainKeys{}, state.Holder{})
						if errors.Is(err, state.ErrStackNotFound) {
							return faultfs.Fault{}
						}
						require.NoError(t, err)
						there = true
						require.NoError(t, stack.Append(t.Context(), state.Entry{state.PutResource{Serial: stack.NextSerial(), Resource: component("more")}}))
						require.NoError(t, stack.Close(t.Context()))
						return faultfs.Fault{}
					})
					err := step.take(t.Context(), store)
					fsys.Inject(nil)
					got := whole(t, fsys)
					if there {
						require.Contains(t, got, "more", "pause at %d", at)
					}
					switch got = strings.Replace(got, " more", "", 1); {
					case err == nil:
						require.Equal(t, step.after, got, "pause at %d", at)
					case got != beforeSteps:
						require.Equal(t, step.after, got, "pause at %d: %v", at, err)
					}
				}
			})
		}
	}
}

// The record of a step that is damaged is told, and keeps nobody from other stacks.
func TestDamagedIntentIsTold(t *testing.T) {
	fsys := twoStacks(t)
	stackHolding(t, fsys, state.StackName{Project: "third", Name: "dev"}, "c")
	fsys.Inject(func(op faultfs.Op) faultfs.Fault {
		return faultfs.Fault{Crash: op.Kind == "syncdir" && op.Name == "intents"}
	})
	require.Error(t, steps["move"].take(t.Context(), filestore.NewFS(fsys)))
	after := fsys.Reboot(faultfs.Loss{})
	left, err := after.ReadDir("intents")
	require.NoError(t, err)
	require.Len(t, left, 1)
	file := "intents/" + left[0].Name()
	text := readAt(after, file)
	for at := range text {
		damaged := []byte(text)
		damaged[at] ^= 1
		disk := fsys.Reboot(faultfs.Loss{})
		writeDurably(t, disk, file, string(damaged))
		store := filestore.NewFS(disk)
		for _, name := range []state.StackName{stackName, otherName} {
			_, err := store.Lease(t.Context(), name, state.Holder{})
			require.ErrorIs(t, err, state.ErrCorrupt, "byte %d", at)
			require.ErrorContains(t, err, file)
		}
		lease, err := store.Lease(t.Context(), state.StackName{Project: "third", Name: "dev"}, state.Holder{})
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
	}
}

// What a removed stack had beside its state is not that of the next one of its name.
func TestRemovedStackTakesAllAlong(t *testing.T) {
	fsys := twoStacks(t)
	store := filestore.NewFS(fsys)
	require.NoError(t, steps["remove"].take(t.Context(), store))
	require.NoError(t, state.Create(t.Context(), store, stackName, plainKeys{}))
	require.Contains(t, whole(t, fsys), "proj/dev:; history []; values none; record none\n")
	kept, err := store.Backups(t.Context(), stackName)
	require.NoError(t, err)
	require.Len(t, kept, 2, "the backups stay")
}
