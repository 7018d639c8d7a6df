package remote_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/strictcbor"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
)

// serve serves a backend. Who has the token "reader" may only read stacks of the project p, all others everything.
func serve(t *testing.T, b *backend.Backend) (server *httptest.Server, handler *remote.Server) {
	handler = remote.Handler(accessTo(b), intake.ProcessBudget())
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server, handler
}

func accessTo(b *backend.Backend) func(*http.Request) (*remote.Access, error) {
	return func(r *http.Request) (*remote.Access, error) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if token == "" || token == "nobody" {
			return nil, &remote.RefusedError{Status: http.StatusUnauthorized, Reason: "nobody has this token"}
		}
		return &remote.Access{Owner: token, Backend: b, Writes: token != "reader", Allows: func(stack state.StackName, write bool) bool {
			return token != "reader" || stack.Project == "p" && !write
		}}, nil
	}
}

func open(t *testing.T, address, token string) *backend.Backend {
	b, err := remote.Open(t.Context(), named.ByOperator(fmt.Sprintf("http://:%s@%s", token, strings.TrimPrefix(address, "http://")), "the test"), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// newStacks returns a backend whose leases a server can have for its clients.
func newStacks(t *testing.T) *backend.Backend {
	b, err := openFile(t.Context(), string(newFile(t)))
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestRemote(t *testing.T) {
	t.Parallel()
	through := func(t *testing.T) *backend.Backend {
		server, _ := serve(t, newStacks(t))
		return open(t, server.URL, "all")
	}
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return through(t).State })
	})
	t.Run("backend", func(t *testing.T) { backendtest.Run(t, through) })
	t.Run("fencing", func(t *testing.T) {
		server, _ := serve(t, newStacks(t))
		backendtest.Fencing(t, open(t, server.URL, "all"))
	})
	t.Run("history under faults", historyUnderFaults)
	t.Run("history of processes that are killed and paused", historyOfProcesses)
	t.Run("endings under faults", func(t *testing.T) {
		var proxies []*faultproxy.Proxy
		faults := faultproxy.Faults(&proxies)
		server, _ := serve(t, newStacks(t))
		backendtest.Endings(t, func(int) *backend.Backend {
			proxy := faultproxy.Start(t, strings.TrimPrefix(server.URL, "http://"))
			proxies = append(proxies, proxy)
			return open(t, proxy.Address(), "all")
		}, faults)
	})
}

// The answer to each step of a lease gets lost, and then the connection.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, newStacks(t))
	proxy := faultproxy.Start(t, strings.TrimPrefix(server.URL, "http://"))
	b := open(t, proxy.Address(), "all")
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	lost := func(step func() error) {
		t.Helper()
		require.NoError(t, b.Check(ctx)) // there is a connection
		proxy.Silence()
		cut := time.AfterFunc(100*time.Millisecond, proxy.Cut)
		defer cut.Stop()
		require.NoError(t, step())
	}
	lost(func() error { return b.State.Create(ctx, name, []byte("{}")) })
	var l state.Lease
	lost(func() (err error) {
		l, err = b.State.Lease(ctx, name, state.Holder{PID: 1})
		return err
	})
	lost(func() error {
		_, err := l.Load(ctx)
		return err
	})
	lost(func() error { return l.Append(ctx, 1, []byte("one")) })
	lost(func() error { return l.Checkpoint(ctx, 1, []byte(`{"one":1}`)) })
	lost(func() error { return l.Append(ctx, 2, []byte("two")) })
	lost(func() error {
		_, err := b.KV.Save(ctx, name, "aws", []byte("value"), "")
		return err
	})
	lost(func() error { return b.State.SetHistory(ctx, name, [][]byte{[]byte("{}")}) })
	c, err := b.State.Load(ctx, name)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("two")}, c.Records)
	lost(func() error { return l.Release(ctx) })
	l, err = b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	lost(func() error { return l.Remove(ctx) })
	require.NoError(t, l.Release(ctx))
}

// TestModulesAreCollected has a server remove modules that no stack names, for a client that cannot read all stacks.
func TestModulesAreCollected(t *testing.T) {
	t.Parallel()
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "stacks.db")
	kept, err := sqlite.Open(ctx, "sqlite://"+filepath.ToSlash(file), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	var named []string
	handler := remote.Handler(func(r *http.Request) (*remote.Access, error) {
		return &remote.Access{
			Owner: "a client", Backend: kept, Writes: !strings.HasSuffix(r.Header.Get("Authorization"), "reader"),
			Allows:  func(stack state.StackName, _ bool) bool { return stack.Project == "p" },
			Modules: func(*state.Snapshot) []string { return named },
		}, nil
	}, intake.ProcessBudget())
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	b := open(t, server.URL, "all")
	old := func() {
		db, err := sql.Open("sqlite3", file)
		require.NoError(t, err)
		_, err = db.Exec("UPDATE kept SET at = 1")
		require.NoError(t, errors.Join(err, db.Close()))
	}
	put := func(content string) string {
		digest := backend.Digest([]byte(content))
		require.NoError(t, b.Modules.Put(ctx, digest, func() ([]byte, error) { return []byte(content), nil }))
		return digest
	}
	collect := func() error { return b.Modules.Collect(ctx, nil) }
	require.NoError(t, kept.State.Create(ctx, state.StackName{Project: "secret", Name: "s"}, []byte(`{"version":3,"checkpoint":{"stack":"s"}}`)))
	used, unused, again := put("used"), put("unused"), put("again")
	named = []string{used}
	require.NoError(t, collect())
	old()
	require.Equal(t, again, put("again"), "a run keeps what it needs")
	require.ErrorContains(t, open(t, server.URL, "reader").Modules.Collect(ctx, nil), "does not allow to write")
	require.NoError(t, collect())
	for digest, want := range map[string]bool{used: true, unused: false, again: true} {
		has, err := b.Modules.Has(ctx, digest)
		require.NoError(t, err)
		require.Equal(t, want, has)
	}
	// A state that the server cannot read may name any module.
	require.NoError(t, kept.State.Create(ctx, state.StackName{Project: "secret", Name: "sealed"}, []byte(`{"version":4,"features":["huskSealed"],"checkpoint":{"stack":"s"}}`)))
	named = nil
	old()
	require.ErrorContains(t, collect(), "may name any module")
	has, err := b.Modules.Has(ctx, used)
	require.NoError(t, err)
	require.True(t, has)
}

// Each call of a lease reaches another of two servers of the same stacks, and each answer gets lost, so that the call reaches the
// other one, too. A server that is there for one call stands for those that are started again.
func TestAnyServerServesAnyCall(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	ctx, name, other := t.Context(), state.StackName{Project: "p", Name: "s"}, state.StackName{Project: "p", Name: "other"}
	var calls, lost atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		handler := remote.Handler(accessTo(kept), intake.ProcessBudget())
		if r.Header.Get("Husk-Attempt") == "" && calls.Load() > 1 { // it was reached before
			lost.Add(1)
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := open(t, server.URL, "all")
	require.NoError(t, b.Check(ctx))
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	require.NoError(t, b.State.Create(ctx, other, []byte("{}")))
	require.ErrorIs(t, b.State.Create(ctx, name, []byte(`{"another":1}`)), state.ErrStackExists)
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 7, Host: "there", Since: time.Now()})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	require.NoError(t, l.Append(ctx, 2, []byte("two")))
	_, err = b.State.Lease(ctx, name, state.Holder{PID: 8})
	var locked *state.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, 7, locked.Holder.PID)
	require.Equal(t, "there", locked.Holder.Host)
	c, err := l.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, c.Records)
	require.NoError(t, l.Checkpoint(ctx, 2, []byte(`{"two":2}`)))
	require.NoError(t, l.Append(ctx, 3, []byte("three")))
	second, c, err := b.State.LeaseAndLoad(ctx, other, state.Holder{PID: 9})
	require.NoError(t, err)
	require.Empty(t, c.Records)
	require.NoError(t, l.CheckpointBoth(ctx, state.NextCheckpoint{Sequence: 3, Checkpoint: []byte(`{"three":3}`)}, second, state.NextCheckpoint{Checkpoint: []byte(`{"other":1}`)}))
	version, err := b.KV.Save(ctx, name, "aws", []byte("value"), "")
	require.NoError(t, err)
	_, err = b.KV.Save(ctx, name, "aws", []byte("next"), version)
	require.NoError(t, err)
	_, err = b.KV.Save(ctx, name, "aws", []byte("late"), version)
	require.ErrorIs(t, err, backend.ErrChanged)
	ended := b.Release(ctx, name, l, backend.Ending{Updates: [][]byte{[]byte("{}")}, Run: "20261123T134500.000Z-up-1", Record: []byte("record")})
	require.Equal(t, backend.Ended{}, ended)
	require.ErrorIs(t, l.Append(ctx, 4, []byte("four")), state.ErrFenced)
	to := state.StackName{Project: "p", Name: "renamed"}
	require.NoError(t, second.Rename(ctx, to, []byte(`{"renamed":1}`)))
	l, err = b.State.Lease(ctx, to, state.Holder{PID: 10})
	require.NoError(t, err)
	require.NoError(t, l.Remove(ctx))
	require.NoError(t, l.Release(ctx))
	names, err := b.State.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.StackName{name}, names)
	c, err = b.State.Load(ctx, name)
	require.NoError(t, err)
	require.JSONEq(t, `{"three":3}`, string(c.Checkpoint))
	require.Empty(t, c.Records)
	require.Greater(t, lost.Load(), int32(20))
}

// A balancer answers as it likes while the server behind it is gone. None of that ends a lease, and only the server does.
func TestAnswersOfABalancer(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	handler := remote.Handler(accessTo(kept), intake.ProcessBudget())
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	var answers []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(answers) == 0 || strings.HasSuffix(r.URL.Path, "/beat") {
			handler.ServeHTTP(w, r)
			return
		}
		status := answers[0]
		answers = answers[1:]
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html>a page</html>"))
	}))
	defer server.Close()
	b := open(t, server.URL, "all")
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	l, _, err := b.State.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	for n, status := range []int{200, 302, 400, 401, 403, 404, 410, 413, 429, 500, 502, 503} {
		answers = []int{status}
		require.NoError(t, l.Append(ctx, uint64(n)+1, []byte("record")), status)
		require.Empty(t, answers)
	}
	require.NoError(t, kept.State.Break(ctx, name))
	require.ErrorIs(t, l.Append(ctx, 13, []byte("late")), state.ErrFenced)
	require.NoError(t, l.Release(ctx))
}

// Answers that come without a mark, as those of earlier versions, and those that a proxy takes the mark from, are what they say.
func TestAnswersWithoutAMark(t *testing.T) {
	t.Parallel()
	handler := remote.Handler(accessTo(newStacks(t)), intake.ProcessBudget())
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	defer server.Close()
	b := open(t, server.URL, "reader")
	_, err := b.State.List(t.Context())
	require.NoError(t, err)
	calls.Store(0)
	require.ErrorContains(t, b.State.Create(t.Context(), state.StackName{Project: "p", Name: "s"}, []byte("{}")), "the token does not allow")
	require.Equal(t, int32(1), calls.Load())
}

// A server that hangs for a while and then goes on begins no call whose client has given it up: it was sent again, and what was done
// since is not to be undone.
func TestACallThatWasGivenUpIsNotBegun(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	handler := remote.Handler(accessTo(kept), intake.ProcessBudget())
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	require.NoError(t, open(t, server.URL, "all").State.Create(ctx, name, []byte("{}")))
	l, err := kept.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	require.NoError(t, l.Remove(ctx))
	again := func(ctx context.Context) int {
		r := httptest.NewRequest(http.MethodPost, remote.Path+"create", bytes.NewReader(body)).WithContext(ctx)
		r.Header.Set("Content-Type", "application/cbor")
		r.Header.Set("Authorization", "Bearer all")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return answer.Code
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, http.StatusServiceUnavailable, again(gone))
	_, err = kept.State.Load(ctx, name)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	require.Equal(t, http.StatusOK, again(ctx))
	_, err = kept.State.Load(ctx, name)
	require.NoError(t, err)
}

// The lease of a client that is gone ends by itself, by the clock of the store.
func TestSilentClients(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	kept, err := openFile(t.Context(), string(file))
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	server, _ := serve(t, kept)
	b := open(t, server.URL, "all")
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	gone, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = gone.Load(ctx)
	require.NoError(t, err)
	_, err = b.State.Lease(ctx, name, state.Holder{PID: 2})
	require.ErrorIs(t, err, state.ErrLocked)
	file.clockJumps(t)
	require.NoError(t, gone.Append(ctx, 1, []byte("one")), "nobody has taken it")
	_, err = b.State.Lease(ctx, name, state.Holder{PID: 2})
	require.ErrorIs(t, err, state.ErrLocked, "a step is a sign of life")
	file.clockJumps(t)
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 2})
	require.NoError(t, err)
	require.Greater(t, l.Token(), gone.Token())
	require.ErrorIs(t, gone.Append(ctx, 2, []byte("two")), state.ErrFenced)
	require.NoError(t, gone.Release(ctx))
	require.NoError(t, l.Release(ctx))
}

// An owner who has ended has no lease any more, and others keep theirs.
func TestLeasesOfAnOwnerEnd(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	server, _ := serve(t, kept)
	ctx, stacks := t.Context(), []state.StackName{{Project: "p", Name: "a"}, {Project: "p", Name: "b"}, {Project: "p", Name: "c"}}
	var leases []state.Lease
	for n, owner := range []string{"ann", "ann", "bob"} {
		b := open(t, server.URL, owner)
		require.NoError(t, b.State.Create(ctx, stacks[n], []byte("{}")))
		l, _, err := b.State.LeaseAndLoad(ctx, stacks[n], state.Holder{PID: n})
		require.NoError(t, err)
		leases = append(leases, l)
	}
	require.NoError(t, remote.EndLeases(ctx, kept, "ann", stacks[0]))
	require.ErrorIs(t, leases[0].Append(ctx, 1, []byte("x")), state.ErrFenced)
	require.NoError(t, leases[1].Append(ctx, 1, []byte("x")))
	require.NoError(t, remote.EndLeases(ctx, kept, "ann", state.StackName{}))
	require.ErrorIs(t, leases[1].Append(ctx, 2, []byte("x")), state.ErrFenced)
	require.NoError(t, leases[2].Append(ctx, 1, []byte("x")))
	for _, l := range leases {
		require.NoError(t, l.Release(ctx))
	}
}

func TestTokens(t *testing.T) {
	kept := newStacks(t)
	server, _ := serve(t, kept)
	ctx := t.Context()
	mine, others := state.StackName{Project: "p", Name: "s"}, state.StackName{Project: "secret", Name: "s"}
	all := open(t, server.URL, "all")
	require.NoError(t, all.State.Create(ctx, mine, []byte(`{"a":1}`)))
	require.NoError(t, all.State.Create(ctx, others, []byte(`{"canary":1}`)))

	reader := open(t, server.URL, "reader")
	stacks, err := reader.State.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.StackName{mine}, stacks)
	_, err = reader.State.Load(ctx, mine)
	require.NoError(t, err)
	a := reader.State
	for what, try := range map[string]func(state.StackName) error{
		"load":        func(n state.StackName) error { _, err := reader.State.Load(ctx, n); return err },
		"backups":     func(n state.StackName) error { _, err := a.Backups(ctx, n); return err },
		"backup":      func(n state.StackName) error { _, err := a.Backup(ctx, n, "1"); return err },
		"history":     func(n state.StackName) error { _, err := a.History(ctx, n); return err },
		"values":      func(n state.StackName) error { _, err := reader.KV.List(ctx, n); return err },
		"value":       func(n state.StackName) error { _, _, err := reader.KV.Load(ctx, n, "aws"); return err },
		"runs":        func(n state.StackName) error { _, err := reader.History.List(ctx, n); return err },
		"run":         func(n state.StackName) error { _, err := reader.History.Get(ctx, n, "1"); return err },
		"create":      func(n state.StackName) error { return reader.State.Create(ctx, n, []byte("{}")) },
		"lease":       func(n state.StackName) error { _, err := reader.State.Lease(ctx, n, state.Holder{}); return err },
		"break":       func(n state.StackName) error { return reader.State.Break(ctx, n) },
		"set history": func(n state.StackName) error { return a.SetHistory(ctx, n, nil) },
		"save":        func(n state.StackName) error { _, err := reader.KV.Save(ctx, n, "aws", nil, ""); return err },
		"put run":     func(n state.StackName) error { return reader.History.Put(ctx, n, "1", nil) },
	} {
		err := try(others)
		require.ErrorContains(t, err, "does not allow to", what)
		require.NotContains(t, err.Error(), "canary")
	}
	require.ErrorContains(t, reader.State.Create(ctx, mine, []byte("{}")), "does not allow to write the stack p/s")

	// A lease of one client is of no use to another, nor is that of another stack.
	for token, want := range map[string]string{"nobody": "does not accept the token: nobody has this token", "": "asks for a token: set HUSK_ACCESS_TOKEN"} {
		_, err := open(t, server.URL, token).State.List(ctx)
		require.ErrorContains(t, err, want)
	}
	t.Setenv(remote.TokenVariable, "all")
	b, err := remote.Open(ctx, named.ByOperator(server.URL, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Check(ctx))
	require.Equal(t, server.URL, b.Place)
	_, err = b.State.Load(ctx, state.StackName{Project: "p", Name: "none"})
	require.ErrorIs(t, err, state.ErrStackNotFound)
	require.NotContains(t, err.Error(), kept.Place, "where the server keeps its stacks is its own")
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://":                    "form https://host",
		"https://husk.example?a=b":    "form https://host",
		"http://me:secret@192.0.2.1/": "use https",
	} {
		_, err := remote.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	b, err := remote.Open(t.Context(), named.ByOperator("https://:secret@husk.example/team/", "the test"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, "https://husk.example/team", b.Place)
}

// What is no server of husk is told from one.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]func(http.ResponseWriter, *http.Request){
		`answered with "text/html"`:     func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") },
		"404 Not Found: check the URL":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"client_max_body_size in nginx": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		"it is at https://elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere", http.StatusFound)
		},
		"cannot be understood": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = w.Write([]byte("\xff\xff"))
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(want))
		_, err := open(t, server.URL, "all").State.List(t.Context())
		require.ErrorContains(t, err, answer)
		server.Close()
	}
}

// A server that was never reached is not waited for, because its name or port may be wrong.
func TestNoServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	_, err := open(t, address, "all").State.List(t.Context())
	require.ErrorContains(t, err, "the backend "+address)
	require.ErrorContains(t, err, "refused")

	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	b, err := remote.Open(t.Context(), named.ByOperator(secure.URL, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	_, err = b.State.List(t.Context())
	require.ErrorContains(t, err, "certificate")
}

// Calls that no client sends are refused.
func TestCallsOfNobody(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, newStacks(t))
	for path, body := range map[string]string{"load": "\xa0", "create": "\xa0", "lease": "\xff", "nothing": "\xa0", "append": "\xa1\x61x\x01"} {
		req, err := http.NewRequest(http.MethodPost, server.URL+remote.Path+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer all")
		req.Header.Set("Content-Type", "application/cbor")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 4, resp.StatusCode/100, "%s: %s", path, resp.Status)
	}
}

// TestLeasesAreCounted has a client have as many leases as it may, also at other servers: those of others go on, and what one lease
// took another one gets.
func TestLeasesAreCounted(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	kept, err := openFile(t.Context(), string(file))
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	handler := remote.Handler(accessTo(kept), intake.ProcessBudget())
	for n := range 2 {
		require.NoError(t, kept.State.Create(t.Context(), state.StackName{Project: "p", Name: fmt.Sprint("s", n)}, []byte("{}")))
	}
	ask := func(token, operation string, n int, id string) *http.Response {
		t.Helper()
		body, err := strictcbor.Marshal(map[string]any{"call": rand.Text(), "stack": map[string]any{"Project": "p", "Name": fmt.Sprint("s", n)}, "lease": id})
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodPost, remote.Path+operation, bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/cbor")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Result()
	}
	first := rand.Text()
	require.Equal(t, http.StatusOK, ask("greedy", "lease", 0, first).StatusCode)
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(string(file))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO stacks (project, name, present, lease) SELECT 'p', 's' || i, 1, (SELECT lease FROM stacks WHERE name = 's0') || i FROM n`, backend.MaxLeases)
	require.NoError(t, errors.Join(err, db.Close()))
	answer := ask("greedy", "lease", 1, rand.Text())
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, ask("greedy", "release", 0, first).StatusCode)
	second := rand.Text()
	require.Equal(t, http.StatusOK, ask("greedy", "lease", 1, second).StatusCode)
	require.Equal(t, http.StatusOK, ask("modest", "lease", 0, rand.Text()).StatusCode)
}

// TestEndingsWithModulesOfOthers has a run claim to have used a module that its token does not allow.
func TestEndingsWithModulesOfOthers(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	own, others := backend.Digest([]byte("own")), backend.Digest([]byte("others"))
	for _, content := range []string{"own", "others"} {
		require.NoError(t, kept.Modules.Put(t.Context(), backend.Digest([]byte(content)), func() ([]byte, error) { return []byte(content), nil }))
	}
	handler := remote.Handler(func(*http.Request) (*remote.Access, error) {
		return &remote.Access{Owner: "a client", Backend: kept, Writes: true, Allows: func(state.StackName, bool) bool { return true },
			Module: func(digest string) bool { return digest == own }}, nil
	}, intake.ProcessBudget())
	server := httptest.NewServer(handler)
	defer server.Close()
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	for _, modules := range [][]string{{own}, {own, others}} {
		l, err := b.State.Lease(t.Context(), stack, state.Holder{})
		require.NoError(t, err)
		missing, err := b.End(t.Context(), l, backend.Ending{Modules: modules})
		require.Empty(t, missing, "whether it is stored is not told")
		if len(modules) == 1 {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "the token does not allow to use the module "+others)
		require.NoError(t, l.Release(t.Context()))
	}
	l, err := b.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err, "the lease has ended")
	require.NoError(t, l.Release(t.Context()))
}

// TestServersThatCannotBeUsed tries URLs that are wrong in one thing.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	gone := httptest.NewServer(handler)
	gone.Close()
	port := func(s *httptest.Server) string { return s.URL[strings.LastIndexByte(s.URL, ':'):] }
	for url, want := range map[string]string{
		gone.URL:                           "check the host and the port in the URL, and whether the server runs",
		"https://nowhere.invalid":          "check the host and the port in the URL, and whether the server runs",
		"https://127.0.0.1" + port(plain):  "the server speaks no TLS",
		secure.URL:                         "set SSL_CERT_FILE to a file with the authority's certificate",
		"https://localhost" + port(secure): "name the host in the URL as its certificate does",
	} {
		t.Run(url, func(t *testing.T) {
			b, err := remote.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
			require.NoError(t, err)
			require.ErrorContains(t, b.Check(t.Context()), want)
		})
	}
}

// TestCallsThatPanic has a call end in a panic, which its client is told of.
func TestCallsThatPanic(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	handler := remote.Handler(func(*http.Request) (*remote.Access, error) {
		return &remote.Access{Owner: "a client", Backend: kept, Writes: true, Allows: func(state.StackName, bool) bool { return true },
			Leased: func(context.Context, state.StackName) error { panic("a fault") }}, nil
	}, intake.ProcessBudget())
	var answered atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			failed := recover() != nil
			if strings.HasSuffix(r.URL.Path, "/lease") && r.Context().Err() == nil {
				answered.Add(1)
			}
			if failed {
				panic(http.ErrAbortHandler) // as the server does, without its log
			}
		}()
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := open(t, server.URL, "all")
	stack := state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for answered.Load() < 3 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel() // it is tried again, and answered each time
	}()
	_, err := b.State.Lease(ctx, stack, state.Holder{})
	require.Error(t, err)
	require.GreaterOrEqual(t, answered.Load(), int32(3))
}

// lostDisk is a store whose files cannot be used.
type lostDisk struct {
	backend.Resumer
	err error
}

func (s lostDisk) Load(context.Context, state.StackName) (*state.Contents, error) { return nil, s.err }

func (s lostDisk) Resume(ctx context.Context, name state.StackName, key backend.LeaseKey) (state.Lease, error) {
	l, err := s.Resumer.Resume(ctx, name, key)
	return lostDiskLease{l, s.err}, err
}

func (s lostDisk) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, s, name, holder)
}

type lostDiskLease struct {
	state.Lease
	err error
}

func (l lostDiskLease) Load(ctx context.Context) (*state.Contents, error) {
	c, err := l.Lease.Load(ctx)
	if err == nil {
		c.CheckpointFile = "the checkpoint in /srv/canary/tenants/acme.db"
		c.CheckpointDamage = &state.CorruptError{File: "/srv/canary/x.db", Reason: "open /srv/canary/y: is a directory", Remedy: "bring /srv/canary/z back", Cause: l.err}
	}
	return c, err
}
func (l lostDiskLease) Append(context.Context, uint64, []byte) error { return l.err }
func (l lostDiskLease) Reserve(context.Context) error {
	return &state.NoSpaceError{File: "/srv/canary/.husk-space-1", Cause: l.err}
}
func (l lostDiskLease) Reset(context.Context, []byte) ([]string, error) {
	return []string{"the backup 1 of p/s in /srv/canary/tenants/acme.db"}, nil
}

// TestNoPathOfTheServerIsTold has the files of a server fail, in each answer that has an error or the name of a file.
func TestNoPathOfTheServerIsTold(t *testing.T) {
	t.Parallel()
	kept := newStacks(t)
	for _, failure := range []error{
		fmt.Errorf("the state: %w", &fs.PathError{Op: "open", Path: "/srv/canary/tenants/.husk-space-1", Err: syscall.EACCES}),
		&os.LinkError{Op: "rename", Old: "/srv/canary/a", New: "/srv/canary/b", Err: syscall.EXDEV},
		errors.New(`unable to open database file: file:/srv/canary/x.db?_pragma=1 (C:\srv\canary "/srv/canary/q")`),
		&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 5432}, Err: errors.New("canary")},
	} {
		faulty := *kept
		faulty.State = lostDisk{kept.State.(backend.Resumer), failure}
		server, _ := serve(t, &faulty)
		b := open(t, server.URL, "all")
		name := state.StackName{Project: "p", Name: "s" + rand.Text()}
		require.NoError(t, b.State.Create(t.Context(), name, []byte("{}")))
		said := func(err error) {
			t.Helper()
			require.Error(t, err)
			require.NotContains(t, fmt.Sprintf("%+v", err), "canary")
			require.NotContains(t, err.Error(), "10.9.8.7")
		}
		_, err := b.State.Load(t.Context(), name)
		said(err)
		l, err := b.State.Lease(t.Context(), name, state.Holder{})
		require.NoError(t, err)
		c, err := l.Load(t.Context())
		require.NoError(t, err)
		require.NotContains(t, c.CheckpointFile, "canary")
		require.NotContains(t, fmt.Sprintf("%+v", *c.CheckpointDamage), "canary")
		said(l.Reserve(t.Context()))
		aside, err := l.Reset(t.Context(), []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, []string{"the backup 1 of p/s in a file of the server"}, aside)
		_, err = l.Load(t.Context())
		require.NoError(t, err)
		said(l.Append(t.Context(), 1, []byte("x")))
		require.NoError(t, l.Release(t.Context()))
	}
}

// TestServersThatLie has a server answer with names that would be those of other files, and errors that control a terminal.
func TestServersThatLie(t *testing.T) {
	t.Parallel()
	for call, answers := range map[string][]map[string]any{
		"list":      {{"stacks": []any{map[string]any{"Project": "..", "Name": "s"}}}, {"stacks": []any{map[string]any{"Project": "p", "Name": "a/../../b"}}}},
		"runs/list": {{"names": []string{"../../../.bashrc"}}, {"names": []string{"a\x00"}}, {"names": []string{strings.Repeat("x", 10_000)}}},
		"kv/list":   {{"names": []string{"../x"}}, {"names": []string{"/etc/x"}}},
		"backups":   {{"backups": []any{map[string]any{"id": "../1"}}}},
		"load": {
			{"failure": map[string]any{"message": "\x1b[2J\rno\nerror: forged"}}, {"failure": map[string]any{"kind": "locked", "stack": map[string]any{"Project": "p", "Name": "\x1b"}, "holder": map[string]any{"user": "\x1b]0;x\a"}}},
			{"failure": map[string]any{"kind": "corrupt", "file": "\x1b[2J", "reason": "\x1b[2J", "remedy": "\u202e"}}, {},
		},
	} {
		for _, answer := range answers {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/cbor")
				body, err := strictcbor.Marshal(answer)
				require.NoError(t, err)
				_, _ = w.Write(body)
			}))
			b := open(t, server.URL, "all")
			name := state.StackName{Project: "p", Name: "s"}
			var err error
			switch call {
			case "list":
				_, err = b.State.List(t.Context())
			case "runs/list":
				_, err = b.History.List(t.Context(), name)
			case "kv/list":
				_, err = b.KV.List(t.Context(), name)
			case "backups":
				_, err = b.State.Backups(t.Context(), name)
			case "load":
				_, err = b.State.Load(t.Context(), name)
			}
			require.Error(t, err, "%s: %v", call, answer)
			require.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x{202e}]`, err.Error())
			require.NotContains(t, err.Error(), "\nerror:", "a line of its own")
			server.Close()
		}
	}
	// What would take much memory.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/cbor")
		const n = 1 << 19
		_, _ = w.Write(append([]byte{0xa1, 0x66, 's', 't', 'a', 'c', 'k', 's', 0x9a, 0, n >> 16, 0, 0}, bytes.Repeat([]byte{0xa0}, n)...))
	}))
	defer server.Close()
	_, err := open(t, server.URL, "all").State.List(t.Context())
	require.ErrorContains(t, err, "more than 8 times as much memory")
}
