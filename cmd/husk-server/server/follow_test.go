package server_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/keyring"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

func (b *bench) revoke(admin *runapi.Client, name string) {
	b.t.Helper()
	_, err := admin.Call(b.t.Context(), http.MethodDelete, "/v1/tokens/"+name, nil, nil)
	require.NoError(b.t, err)
}

// watch asks for the log of a run.
func (b *bench) watch(ctx context.Context, c *runapi.Client, id string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/v1/runs/"+id+"/log", nil)
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+c.Token())
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A token that is revoked ends what was begun with it: following a log, waiting for a run, and the runs of a worker.
func TestRevokedTokens(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		admin, reader, worker, thief := b.client("acme", "admin", runapi.Admin), b.client("acme", "reader", runapi.Read), b.client("acme", "w", runapi.Work), b.client("acme", "thief", runapi.Work)
		run := b.asked(admin, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim := b.next(worker, "w", nil)
		say := func(number int64, text string) error {
			lines := []runapi.Line{{Number: number, Stream: runapi.Out, Text: text}}
			_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
			return err
		}
		require.NoError(t, say(1, "before"))
		watching := b.watch(t.Context(), reader, run.ID)
		require.Equal(t, http.StatusOK, watching.StatusCode)
		ended := make(chan string)
		go func() {
			text, _ := io.ReadAll(watching.Body)
			ended <- string(text)
		}()
		b.revoke(admin, "reader")
		seen := <-ended // whatever the run logs, or nothing
		require.NoError(t, say(2, "after"))
		require.Contains(t, seen, "before")
		require.NotContains(t, seen, "after")
		require.Equal(t, http.StatusUnauthorized, b.watch(t.Context(), reader, run.ID).StatusCode)

		// A worker that waits.
		refused := make(chan error, 1)
		go func() {
			_, err := thief.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "thief", Slots: 1, Seconds: 50}, nil)
			refused <- err
		}()
		require.Eventually(t, func() bool {
			var s runapi.Status
			_, err := admin.Call(t.Context(), http.MethodGet, "/v1/status", nil, &s)
			return err == nil && len(s.Workers) == 2
		}, time.Minute, 10*time.Millisecond)
		b.revoke(admin, "thief")
		queued := b.asked(admin, runapi.NewRun{Project: "shop", Stack: "other"})
		require.Equal(t, http.StatusUnauthorized, status(<-refused))
		require.Equal(t, runapi.Queued, b.run(admin, queued.ID).State)

		// The run of a worker.
		b.revoke(admin, "w")
		require.Equal(t, http.StatusUnauthorized, status(say(3, "too late")))
		_, err := b.of(claim).Send(t.Context(), 0, http.MethodGet, "/v1/work/bundle", "", nil)
		require.Equal(t, http.StatusUnauthorized, status(err))
	})
}

// pages is a connection that notes how much is written at once, and that all of it has a deadline.
type pages struct {
	*httptest.ResponseRecorder
	t        *testing.T
	deadline time.Time
	// broken is the error of each write.
	broken       error
	now, largest int
}

func (p *pages) SetWriteDeadline(at time.Time) error {
	p.deadline = at
	return nil
}

func (p *pages) Write(b []byte) (int, error) {
	if until := time.Until(p.deadline); p.deadline.IsZero() || until > time.Hour {
		p.t.Error("a write without a deadline")
	}
	if p.broken != nil {
		return 0, p.broken
	}
	p.now += len(b)
	p.largest = max(p.largest, p.now)
	return p.ResponseRecorder.Write(b)
}

func (p *pages) FlushError() error {
	p.now = 0
	return nil
}

// A log is as long as it may be, whatever its run writes, and the run goes on. Who follows it gets it in pages, and does not
// keep the server waiting.
func TestLongLogs(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.next(worker, "w", nil)
	long := strings.Repeat("x", 300<<10) // more than a line may have
	var number int64
	for range 30 {
		var lines []runapi.Line
		for range 10 {
			number++
			lines = append(lines, runapi.Line{Number: number, Stream: runapi.Out, Text: long})
		}
		_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
		require.NoError(t, err)
	}
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	lines := b.log(ann, run.ID)
	const kept = 64<<20/(256<<10) - 1
	require.Len(t, lines, kept+2)
	for _, line := range lines[:kept] {
		require.Len(t, line, len("out: ")+256<<10)
	}
	require.Equal(t, []string{"server: What follows was not kept: a log has at most 64 MiB.", "server: Cancelled by ann."}, lines[kept:])

	follow := func(broken error) *pages {
		req := httptest.NewRequest(http.MethodGet, "/v1/runs/"+run.ID+"/log", nil)
		req.Header.Set("Authorization", "Bearer "+ann.Token())
		w := &pages{ResponseRecorder: httptest.NewRecorder(), t: t, broken: broken}
		b.server.ServeHTTP(w, req)
		return w
	}
	w := follow(nil)
	require.Greater(t, w.Body.Len(), 60<<20)
	require.Less(t, w.largest, 2<<20)
	require.Zero(t, follow(os.ErrDeadlineExceeded).Body.Len(), "who does not read is left")
}

// The logs that are followed with one token at once are bounded.
func TestManyFollowers(t *testing.T) {
	b := open(t, server.Options{})
	ann, bob := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Request)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	first, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 256 {
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		require.Equal(t, http.StatusOK, b.watch(ctx, ann, run.ID).StatusCode)
	}
	refused := b.watch(t.Context(), ann, run.ID)
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	require.Equal(t, "2", refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, b.watch(t.Context(), bob, run.ID).StatusCode)
	stop()
	// A client tries again by itself.
	done := errors.New("done")
	require.ErrorIs(t, ann.Follow(t.Context(), run.ID, 0, func(*runapi.Line, *runapi.Run) (bool, error) { return false, done }), done)
}

// Keys are replaced while servers run, and what was encrypted before is read. A rotation that was cut off goes on.
func TestKeysAreReplaced(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir = t.TempDir()
		b := open(t, o)
		seal := func(team string) (decrypts func()) {
			keys := b.stacks(b.client(team, rand.Text(), runapi.Request).Token()).Keys
			sealed, err := keys.Encrypt(t.Context(), []byte("key"))
			require.NoError(t, err)
			return func() {
				key, err := keys.Decrypt(t.Context(), sealed)
				require.NoError(t, err)
				require.Equal(t, "key", string(key))
			}
		}
		file := filepath.Join(o.Dir, "server.key")
		former, err := os.ReadFile(file)
		require.NoError(t, err)
		all := []func(){seal("acme")}
		other := open(t, o) // such as the command's
		require.NoError(t, other.server.RotateTeamKey(t.Context(), "acme"))
		all = append(all, seal("acme"))
		require.NoError(t, other.server.RotateTeamKey(t.Context(), "acme"))
		sealed, err := other.stacks(b.client("acme", "ann", runapi.Request).Token()).Keys.Encrypt(t.Context(), []byte("key"))
		require.NoError(t, err)
		key, err := b.stacks(b.client("acme", "bob", runapi.Request).Token()).Keys.Decrypt(t.Context(), sealed)
		require.NoError(t, err, "with a key that the server has not read yet")
		require.Equal(t, "key", string(key))
		n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_former_keys WHERE tenant = 'acme'")
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, http.StatusNotFound, server.StatusOf(other.server.RotateTeamKey(t.Context(), "none")))

		_, err = keyring.Source{File: file}.Begin() // and the command is killed
		require.NoError(t, err)
		all = append(all, seal("early"))
		_ = open(t, o)
		byOperator, err := other.server.RotateKey(t.Context())
		require.NoError(t, err)
		require.False(t, byOperator)
		all = append(all, seal("late"))
		require.NoError(t, other.server.RotateTeamKey(t.Context(), "early"))
		for _, b = range []*bench{b, open(t, o)} {
			all = append(all, seal("acme"))
			for _, decrypts := range all {
				decrypts()
			}
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Len(t, strings.Fields(string(content)), 1)
		require.NotEqual(t, former, content)
		require.NoError(t, os.WriteFile(file, former, 0o600))
		_, err = server.Open(t.Context(), o)
		require.ErrorContains(t, err, "is encrypted with the key of another server")

		// Servers that have their keys in a variable get the new one first.
		is, next := strings.TrimSpace(string(content)), strings.Repeat("5a", keyring.Bytes)
		t.Setenv(server.KeyVariable, is)
		_, err = other.server.RotateKey(t.Context())
		require.ErrorContains(t, err, "HUSK_SERVER_KEY has one key: add a new one to it at all servers")
		t.Setenv(server.KeyVariable, next+","+is)
		byOperator, err = other.server.RotateKey(t.Context())
		require.NoError(t, err)
		require.True(t, byOperator)
		t.Setenv(server.KeyVariable, next)
		_ = open(t, o)
		var audit strings.Builder
		require.NoError(t, other.server.AuditLog(t.Context(), &audit, "acme"))
		require.Equal(t, 4, strings.Count(audit.String(), `"key.rotate"`), audit.String())
	})
}

// A team ends with its tokens, and with its stacks if that is said. Its audit log stays, and nobody gets its name again.
func TestTeamsEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		quiet(t)
		o.Dir = t.TempDir()
		b := open(t, o)
		ann, worker, bob := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work), b.client("other", "bob", runapi.Request)
		require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
		require.NoError(t, b.stacks(bob.Token()).State.Create(t.Context(), state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		queued := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		operator := open(t, o)
		end := func(withStacks bool) error { return operator.server.EndTeam(t.Context(), "acme", withStacks) }
		require.Equal(t, http.StatusNotFound, server.StatusOf(operator.server.EndTeam(t.Context(), "none", true)))
		require.ErrorContains(t, end(false), "has 1 stacks and 2 open runs")
		claim := b.next(worker, "w", nil)
		require.ErrorContains(t, end(true), "1 runs of the team acme are at workers")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.NoError(t, end(true))
		require.NoError(t, end(true), "as after an end that was cut off")

		for _, c := range []*runapi.Client{ann, worker} {
			_, err := c.CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
			require.Equal(t, http.StatusUnauthorized, status(err))
		}
		n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_runs WHERE id = ? AND state = 'cancelled'", queued.ID)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "eve", Role: runapi.Admin})
		require.ErrorContains(t, err, "the team acme ended at")
		if o.Database == "" {
			require.NoFileExists(t, filepath.Join(o.Dir, "tenants", "acme.db"))
		} else {
			n, err := b.server.Count(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname = 'husk_acme'")
			require.NoError(t, err)
			require.Zero(t, n)
		}
		all, err := b.stacks(bob.Token()).State.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1, "of another team")
		_ = open(t, o) // which looks at all keys
		var audit strings.Builder
		require.NoError(t, operator.server.AuditLog(t.Context(), &audit, "acme"))
		for _, want := range []string{`"action":"token.issue","subject":"ann"`, `"action":"run.cancel","subject":"` + queued.ID, `"action":"team.end","subject":"acme","detail":"2 tokens revoked, 1 stacks removed"`} {
			require.Contains(t, audit.String(), want)
		}
	})
}
