package s3_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// TestLockIsLostWhileValuesAreSaved takes a lock away after its holder has looked whether it has it, and before the server
// has the values that it saves. No values are replaced unseen: the next holder reads them, or its own are refused.
func TestLockIsLostWhileValuesAreSaved(t *testing.T) {
	t.Parallel()
	for name, readsBefore := range map[string]bool{"the next holder has read": true, "the next holder reads": false} {
		t.Run(name, func(t *testing.T) {
			var holding atomic.Bool
			arrived, goOn := make(chan struct{}), make(chan struct{})
			server := startWith(t, nil, func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/kv/") && holding.CompareAndSwap(true, false) {
					close(arrived)
					<-goOn
				}
				return false
			})
			ctx, mine, others := t.Context(), open(t, server.address, "lost"), open(t, server.address, "lost")
			require.NoError(t, mine.State.Create(ctx, stackName, []byte("{}")))
			former, err := mine.State.Lease(ctx, stackName, state.Holder{PID: 1})
			require.NoError(t, err)
			formers := backend.WithToken(ctx, former.Token())
			first, err := mine.KV.Save(formers, stackName, "aws", []byte("first"), "")
			require.NoError(t, err)

			holding.Store(true)
			type result struct {
				version string
				err     error
			}
			saved := make(chan result)
			go func() {
				version, err := mine.KV.Save(formers, stackName, "aws", []byte("late"), first)
				saved <- result{version, err}
			}()
			<-arrived
			require.NoError(t, others.State.Break(ctx, stackName))
			latter, err := others.State.Lease(ctx, stackName, state.Holder{PID: 2})
			require.NoError(t, err)
			latters := backend.WithToken(ctx, latter.Token())
			read := func(want string) (version string) {
				t.Helper()
				is, version, err := others.KV.Load(latters, stackName, "aws")
				require.NoError(t, err)
				require.Equal(t, want, string(is))
				return version
			}
			version := first
			if readsBefore {
				version = read("first")
			}
			close(goOn)
			late := <-saved
			require.NoError(t, late.err)
			if readsBefore {
				_, err = others.KV.Save(latters, stackName, "aws", []byte("second"), version)
				require.ErrorIs(t, err, backend.ErrChanged)
			}
			_, err = others.KV.Save(latters, stackName, "aws", []byte("second"), read("late"))
			require.NoError(t, err)
			_, err = mine.KV.Save(formers, stackName, "aws", []byte("too late"), late.version)
			require.ErrorIs(t, err, state.ErrFenced)
			read("second")
			require.NoError(t, latter.Release(ctx))
			require.NoError(t, former.Release(ctx))
		})
	}
}

// TestHistoryOfALostLock has a run that has read the history write it after its lock is lost. What the next holder writes
// stays.
func TestHistoryOfALostLock(t *testing.T) {
	t.Parallel()
	address := start(t, nil)
	ctx := t.Context()
	mine, others := open(t, address, "lost").State, open(t, address, "lost").State
	require.NoError(t, mine.Create(ctx, stackName, []byte("{}")))
	former, err := mine.Lease(ctx, stackName, state.Holder{PID: 1})
	require.NoError(t, err)
	formers := backend.WithToken(ctx, former.Token())
	_, err = mine.History(formers, stackName)
	require.NoError(t, err)
	require.NoError(t, others.Break(ctx, stackName))
	latter, err := others.Lease(ctx, stackName, state.Holder{PID: 2})
	require.NoError(t, err)
	latters := backend.WithToken(ctx, latter.Token())
	_, err = others.History(latters, stackName)
	require.NoError(t, err)

	require.NoError(t, mine.SetHistory(formers, stackName, [][]byte{[]byte("the former's")}), "nobody has written it since")
	require.NoError(t, others.SetHistory(latters, stackName, [][]byte{[]byte("the latter's")}))
	require.ErrorIs(t, mine.SetHistory(formers, stackName, [][]byte{[]byte("lost")}), state.ErrFenced)
	is, err := others.History(ctx, stackName)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("the former's"), []byte("the latter's")}, is, "a run that did something is told of")
	require.NoError(t, latter.Release(ctx))
	require.NoError(t, former.Release(ctx))
}

// TestEndingOfALostLock has a run end whose lock another has taken away. It is told so, whatever the other has done since,
// and its update is added to those of the other.
func TestEndingOfALostLock(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, latter state.Lease){
		"to nothing": func(*testing.T, state.Lease) {},
		"to change the stack": func(t *testing.T, latter state.Lease) {
			require.NoError(t, latter.Append(t.Context(), 1, []byte("record")))
			require.NoError(t, latter.Checkpoint(t.Context(), 1, []byte(`{"is":"changed"}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := start(t, nil)
			mine, others := open(t, address, "lost"), open(t, address, "lost")
			require.NoError(t, mine.State.Create(t.Context(), stack, []byte("{}")))
			former, updates := leased(t, mine)
			require.NoError(t, others.State.Break(t.Context(), stack))
			latter, latters := leased(t, others)
			use(t, latter)
			require.Equal(t, backend.Ended{}, others.Release(t.Context(), stack, latter, backend.Ending{Updates: append(latters, []byte("latter"))}))
			ended := mine.Release(t.Context(), stack, former, backend.Ending{Updates: append(updates, []byte("former"))})
			require.ErrorIs(t, ended.Err, state.ErrFenced)
			is, err := mine.State.History(t.Context(), stack)
			require.NoError(t, err)
			require.Equal(t, [][]byte{[]byte("latter"), []byte("former")}, is)
		})
	}
}

// TestReleaseWhoseAnswerIsLost has another take the lock, and change the stack, before a run learns that its own release
// has ended its lock.
func TestReleaseWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	var loses atomic.Bool
	var server *fakeServer
	next := func() {}
	server = startWith(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/stacks/p/s.json") || !loses.CompareAndSwap(true, false) {
			return false
		}
		server.handler.ServeHTTP(httptest.NewRecorder(), r)
		next()
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	mine, others := open(t, server.address, "answer"), open(t, server.address, "answer")
	require.NoError(t, mine.State.Create(t.Context(), stack, []byte("{}")))
	l, updates := leased(t, mine)
	next = func() {
		latter, err := others.State.Lease(t.Context(), stack, state.Holder{})
		if err == nil {
			_, err = latter.Load(t.Context())
		}
		if err == nil {
			err = latter.Append(t.Context(), 1, []byte("record"))
		}
		if err == nil {
			err = latter.Checkpoint(t.Context(), 1, []byte(`{"is":"changed"}`))
		}
		if err == nil {
			err = latter.Release(t.Context())
		}
		assert.NoError(t, err)
	}
	loses.Store(true)
	require.Equal(t, backend.Ended{}, mine.Release(t.Context(), stack, l, backend.Ending{Updates: append(updates, []byte("1"))}))
	require.False(t, loses.Load())
}
