package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
)

// stuckStore has leases that cannot be released while fails is set.
type stuckStore struct {
	backend.Resumer
	fails atomic.Bool
}

type stuckLease struct {
	state.Lease
	store *stuckStore
}

func (s *stuckStore) Resume(ctx context.Context, name state.StackName, key backend.LeaseKey) (state.Lease, error) {
	l, err := s.Resumer.Resume(ctx, name, key)
	if err != nil {
		return nil, err
	}
	return stuckLease{l, s}, nil
}

func (s *stuckStore) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, s, name, holder)
}

func (l stuckLease) Release(ctx context.Context) error {
	if l.store.fails.Load() {
		return errors.New("the lock is stuck")
	}
	return l.Lease.Release(ctx)
}

// TestLocksThatCannotBeReleased has a server be unable to end a lease. The client is told so, and can try again.
func TestLocksThatCannotBeReleased(t *testing.T) {
	t.Parallel()
	stacks := *newStacks(t)
	kept := &stuckStore{Resumer: stacks.State.(backend.Resumer)}
	stacks.State = kept
	server, _ := serve(t, &stacks)
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	l, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	kept.fails.Store(true)
	ended := b.Release(t.Context(), stack, l, backend.Ending{Run: "20261123T134500.000Z-up-1", Record: []byte("record")})
	require.ErrorContains(t, ended.Err, "the lock is stuck")
	require.NoError(t, ended.Lost)
	kept.fails.Store(false)
	_, err = b.State.Lease(t.Context(), stack, state.Holder{})
	require.ErrorIs(t, err, state.ErrLocked)
	require.NoError(t, l.Release(t.Context()))
	l, err = b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
}

// TestEndingsThatTakeLong has the end of a lease reach the server only after a sign of life of its client: sending what a
// run leaves may take longer than a lease lasts without one.
func TestEndingsThatTakeLong(t *testing.T) {
	if testing.Short() {
		t.Skip("a client gives a sign of life each ten seconds")
	}
	t.Parallel()
	const attempt = 14 * time.Second // in which a client gives a sign of life, and does not send the call again
	_, handler := serve(t, newStacks(t))
	beaten := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(beaten) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Base(r.URL.Path) {
		case "beat":
			defer goOn()
		case "release-with":
			select {
			case <-beaten:
			case <-time.After(attempt):
				t.Error("the client gives no sign of life")
				goOn()
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	l, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	require.Equal(t, backend.Ended{}, b.Release(t.Context(), stack, l, backend.Ending{Updates: [][]byte{[]byte("{}")}}))
}

// TestEndingsWithTooManyModules has a client claim to have used more modules than any run does: keeping each on takes the
// server a step of its own.
func TestEndingsWithTooManyModules(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, newStacks(t))
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	var modules []string
	for n := range 1001 {
		modules = append(modules, backend.Digest(fmt.Append(nil, n)))
	}
	l, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	_, err = b.End(t.Context(), l, backend.Ending{Modules: modules})
	require.ErrorContains(t, err, "a run has used at most 1000 modules")
	missing, err := b.End(t.Context(), l, backend.Ending{Modules: modules[1:]})
	require.NoError(t, err)
	require.Equal(t, modules[1:], missing)
}

// noRecords refuses the records of runs.
type noRecords struct{ backend.History }

func (noRecords) Put(context.Context, state.StackName, string, []byte) error {
	return errors.New("no records, please")
}

// TestEndingsWithoutARecord has a server store all of an ending but the record of the run. Nothing is stored again, which
// would be refused if another run had the lease by then.
func TestEndingsWithoutARecord(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	kept.History = noRecords{kept.History}
	_, handler := serve(t, kept)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "set-history" {
			t.Error("the history is stored again")
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	l, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	unknown := backend.Digest([]byte("unknown"))
	ended := b.Release(t.Context(), stack, l, backend.Ending{
		Updates: [][]byte{[]byte("{}")}, Run: "20261123T134500.000Z-up-1", Record: []byte("record"), Modules: []string{unknown},
	})
	require.NoError(t, ended.Err)
	require.ErrorContains(t, ended.Lost, "no records, please")
	require.Equal(t, []string{unknown}, ended.Missing)
	updates, err := kept.State.History(t.Context(), stack)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("{}")}, updates)
}

// What the process of a run has left may be anything: who has taken it over chooses how much memory its worker takes.
func TestRecordsThatARunLeaves(t *testing.T) {
	t.Parallel()
	all, err := remote.ReadUnrecorded(strings.NewReader(`{"sequence":1}` + "\n" + `{"sequence":2`))
	require.NoError(t, err)
	require.Len(t, all, 1, "the last was cut off")
	for text, wrong := range map[string]string{
		strings.Repeat("{}\n", remote.MaxUnrecorded+1): "more than 65536 records",
		strings.Repeat("x", 64<<20+1):                  "64 MiB or more",
		"[]\n":                                         "a record that the run has left",
	} {
		all, err := remote.ReadUnrecorded(strings.NewReader(text))
		require.ErrorContains(t, err, wrong)
		require.Len(t, all, min(strings.Count(text, "{}"), remote.MaxUnrecorded), "what is before that counts")
	}
}

// The port of a server that has gone may be another program's by the next sign of life.
func TestAClosedBackendSendsNoSignsOfLife(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, newStacks(t))
	b := open(t, server.URL, "all")
	name := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), name, []byte("{}")))
	_, err := b.State.Lease(t.Context(), name, state.Holder{})
	require.NoError(t, err)
	beating := func() bool {
		var stacks bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		return strings.Contains(stacks.String(), "remote.(*lease).beat(")
	}
	require.Eventually(t, beating, time.Minute, time.Millisecond)
	b.Close()
	require.Eventually(t, func() bool { return !beating() }, time.Minute, time.Millisecond)
}
