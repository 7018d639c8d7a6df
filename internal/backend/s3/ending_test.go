package s3_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

var stack = state.StackName{Project: "p", Name: "s"}

// leased takes the lease of the stack, and reads the history as a run does.
func leased(t *testing.T, b *backend.Backend) (state.Lease, [][]byte) {
	l, _, err := b.State.LeaseAndLoad(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	updates, err := b.State.History(backend.WithToken(t.Context(), l.Token()), stack)
	require.NoError(t, err)
	return l, updates
}

// TestUpdatesThatComeLate has a run end, and its update arrive after the next run has read the history.
func TestUpdatesThatComeLate(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(t *testing.T, b *backend.Backend, l state.Lease, updates [][]byte) error{
		"at the end of the next run": func(t *testing.T, b *backend.Backend, l state.Lease, updates [][]byte) error {
			return b.Release(t.Context(), stack, l, backend.Ending{Updates: updates}).Err
		},
		"in the middle of the next run": func(t *testing.T, b *backend.Backend, l state.Lease, updates [][]byte) error {
			if err := b.State.SetHistory(backend.WithToken(t.Context(), l.Token()), stack, updates); err != nil {
				return err
			}
			return l.Release(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			var holds atomic.Bool
			late, arrived := make(chan struct{}), make(chan struct{})
			server := startWith(t, nil, func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/history.jsonl") && holds.CompareAndSwap(true, false) {
					close(arrived)
					<-late
				}
				return false
			})
			first, second := open(t, server.address, "late"), open(t, server.address, "late")
			require.NoError(t, first.State.Create(t.Context(), stack, []byte("{}")))
			a := first.State
			require.NoError(t, a.SetHistory(t.Context(), stack, [][]byte{[]byte("0")}))

			l, updates := leased(t, first)
			require.Equal(t, [][]byte{[]byte("0")}, updates)
			holds.Store(true)
			ended := make(chan backend.Ended)
			go func() {
				ended <- first.Release(t.Context(), stack, l, backend.Ending{Updates: append(updates, []byte("1"))})
			}()
			<-arrived
			var next state.Lease
			require.Eventually(t, func() bool {
				var err error
				next, _, err = second.State.LeaseAndLoad(t.Context(), stack, state.Holder{})
				return err == nil
			}, time.Minute, time.Millisecond)
			updates, err := second.State.History(backend.WithToken(t.Context(), next.Token()), stack)
			require.NoError(t, err)
			require.Equal(t, [][]byte{[]byte("0")}, updates)
			close(late)
			require.Equal(t, backend.Ended{}, <-ended)
			require.NoError(t, add(t, second, next, append(updates, []byte("2"))))
			updates, err = a.History(t.Context(), stack)
			require.NoError(t, err)
			require.Equal(t, [][]byte{[]byte("0"), []byte("1"), []byte("2")}, updates)
		})
	}
}

// TestTheHeadThatIsRemembered has a machine take a lease in the version of the head that it has left.
func TestTheHeadThatIsRemembered(t *testing.T) {
	t.Parallel()
	var heads atomic.Int32
	server := startWith(t, func(r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/stacks/p/s.json") {
			heads.Add(1)
		}
	}, nil)
	mine, others := open(t, server.address, "known"), open(t, server.address, "known")
	require.NoError(t, mine.State.Create(t.Context(), stack, []byte(`{"is":"first"}`)))
	use := func(b *backend.Backend, checkpoint string) (writes int32, was string) {
		heads.Store(0)
		l, c, err := b.State.LeaseAndLoad(t.Context(), stack, state.Holder{})
		require.NoError(t, err)
		writes = heads.Load()
		if checkpoint != "" {
			require.NoError(t, l.Append(t.Context(), c.Sequence+1, []byte("record")))
			require.NoError(t, l.Checkpoint(t.Context(), c.Sequence+1, []byte(checkpoint)))
		}
		require.NoError(t, l.Release(t.Context()))
		return writes, string(c.Checkpoint)
	}
	_, was := use(mine, `{"is":"mine"}`)
	require.Equal(t, `{"is":"first"}`, was)
	writes, was := use(mine, "")
	require.Equal(t, `{"is":"mine"}`, was)
	require.EqualValues(t, 1, writes, "the lease is written once")
	_, was = use(others, `{"is":"another's"}`)
	require.Equal(t, `{"is":"mine"}`, was)
	writes, was = use(mine, "")
	require.Equal(t, `{"is":"another's"}`, was)
	require.EqualValues(t, 2, writes, "the first is refused")

	files, err := filepath.Glob(filepath.Join(mine.Dir, "head-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for _, wrong := range []string{"", "{", `{"key":"of another","version":"v","head":{"format":1}}`} {
		require.NoError(t, os.WriteFile(files[0], []byte(wrong), 0o600))
		writes, was = use(mine, "")
		require.Equal(t, `{"is":"another's"}`, was)
		require.EqualValues(t, 1, writes)
	}
	l, err := mine.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, l.Remove(t.Context()))
	require.NoFileExists(t, files[0])
	_, _, err = mine.State.LeaseAndLoad(t.Context(), stack, state.Holder{})
	require.ErrorIs(t, err, state.ErrStackNotFound)
}

// TestLocksThatCannotBeReleased has a server refuse the end of a lease, which stays then. Whoever ended it is told so, and
// may end it later.
func TestLocksThatCannotBeReleased(t *testing.T) {
	t.Parallel()
	var refuses atomic.Bool
	server := startWith(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/stacks/p/s.json") || !refuses.Load() {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	b := open(t, server.address, "stays")
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	l, updates := leased(t, b)
	refuses.Store(true)
	ended := b.Release(t.Context(), stack, l, backend.Ending{Updates: append(updates, []byte("1"))})
	require.ErrorContains(t, ended.Err, "releasing the lock of the stack p/s")
	_, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.ErrorIs(t, err, state.ErrLocked)
	refuses.Store(false)
	require.NoError(t, l.Release(t.Context()))
	l, updates = leased(t, b)
	require.Equal(t, [][]byte{[]byte("1")}, updates)
	require.NoError(t, l.Release(t.Context()))
}

// TestUpdatesAfterTheEnd has a process keep nothing of a history after its run has ended: a server has many stacks, and
// runs go on.
func TestUpdatesAfterTheEnd(t *testing.T) {
	t.Parallel()
	address := start(t, nil)
	mine, others := open(t, address, "after"), open(t, address, "after")
	require.NoError(t, mine.State.Create(t.Context(), stack, []byte("{}")))
	former, _, err := mine.State.LeaseAndLoad(t.Context(), stack, state.Holder{})
	require.NoError(t, err)
	require.Equal(t, backend.Ended{}, mine.Release(t.Context(), stack, former, backend.Ending{}))
	latter, updates := leased(t, others)
	require.Equal(t, backend.Ended{}, others.Release(t.Context(), stack, latter, backend.Ending{Updates: append(updates, []byte("1"))}))
	updates, err = mine.State.History(backend.WithToken(t.Context(), former.Token()), stack)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("1")}, updates)
}
