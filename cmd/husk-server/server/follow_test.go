package server_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// A run begins only if who asked for it still may ask for it, whatever has taken the right, and whether the run is new, previewed, scheduled, or
// tried again. Its record says why it does not, and the next one is taken at once.
func TestRunsBeginIfWhoAskedStillMay(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		boss, bob, worker := b.client("acme", "boss", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
		change := func(statement string) {
			t.Helper()
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET "+statement+" WHERE name = 'ann'"))
		}
		ago := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(-d).UnixMilli()) }
		const day = 24 * time.Hour
		ways := []struct{ what, reason, statement string }{
			{"revoked", "the token ann, which asked for the run, was revoked", ""},
			{"replaced", "was revoked", "another"},
			{"expired", "has expired", "expires = " + ago(time.Minute)},
			{"a login that expired long ago", "has expired", "kind = 'login', expires = " + ago(8*day)},
			{"a login that the issuer has ended", "was ended by the issuer of its login", "kind = 'login', ended = 1, expires = " + ago(time.Minute)},
			{"lowered", "does not allow this any more: it needs the role request", "role = 'preview'"},
			{"for other projects", "is for the project shop no more", "projects = '[\"other*\"]'"},
			{"lasting", "", "role = 'request'"},
			{"a login that expired of itself", "", "kind = 'login', expires = " + ago(3*day)},
		}
		ask := func(c *runapi.Client, n runapi.NewRun) *runapi.Run {
			t.Helper()
			n.Project, n.Stack = "shop", "dev"
			return b.asked(c, n)
		}
		call := func(c *runapi.Client, path string) {
			t.Helper()
			_, err := c.Call(t.Context(), http.MethodPost, path, nil, nil)
			require.NoError(t, err)
		}
		// Each returns a run of ann's that is in the queue.
		queues := map[string]func(ann *runapi.Client) string{
			"new":             func(ann *runapi.Client) string { return ask(ann, runapi.NewRun{}).ID },
			"to be previewed": func(ann *runapi.Client) string { return ask(ann, runapi.NewRun{Approval: true}).ID },
			"new, at a server of an earlier version": func(ann *runapi.Client) string {
				run := ask(ann, runapi.NewRun{})
				require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET asked_with = '', asker = '' WHERE id = ?", run.ID))
				return run.ID
			},
			"given back": func(ann *runapi.Client) string {
				run := ask(ann, runapi.NewRun{})
				require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Queued}))
				return run.ID
			},
			"lost": func(ann *runapi.Client) string {
				run := ask(ann, runapi.NewRun{})
				b.wait(worker)
				require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET lease = 1 WHERE id = ?", run.ID))
				require.Eventually(t, func() bool { return b.run(boss, run.ID).State == runapi.Queued }, time.Minute, 10*time.Millisecond)
				return run.ID
			},
			"scheduled": func(ann *runapi.Client) string {
				_, err := b.setSchedule(ann, "nightly", runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: digest("files")}})
				require.NoError(t, err)
				require.NoError(t, b.server.Begin(t.Context(), "acme", "nightly"))
				id := b.schedule(ann, "nightly").Last
				_, err = boss.Call(t.Context(), http.MethodDelete, "/v1/schedules/nightly", nil, nil)
				require.NoError(t, err)
				return id
			},
			"approved": func(ann *runapi.Client) string {
				run := ask(ann, runapi.NewRun{Approval: true})
				require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
				call(bob, "/v1/runs/"+run.ID+"/approve")
				return run.ID
			},
		}
		require.NoError(t, boss.SendBundle(t.Context(), digest("files"), []byte("files")))
		for _, way := range ways {
			for how, queue := range queues {
				if way.statement != "" && way.what != "lasting" && how != "new" {
					continue
				}
				what := way.what + ", " + how
				role := runapi.Request
				if how == "scheduled" {
					role = runapi.Admin
				}
				ann := b.client("acme", "ann", role)
				id := queue(ann)
				after := ask(boss, runapi.NewRun{})
				switch way.statement {
				case "":
					b.revoke(boss, "ann")
				case "another":
					b.revoke(boss, "ann")
					b.client("acme", "ann", runapi.Admin)
				default:
					change(way.statement)
				}
				claim := b.next(worker, "w", nil)
				require.NotNil(t, claim, what)
				if way.reason == "" {
					require.Equal(t, id, claim.ID, what)
					require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
					claim = b.next(worker, "w", nil)
				} else {
					is := b.run(boss, id)
					require.Equal(t, runapi.Failed, is.State, what)
					require.Contains(t, is.Reason, way.reason, what)
					require.Contains(t, is.Reason, "Ask for it again", what)
					require.Contains(t, strings.Join(b.audit(boss, &is), "\n"), "run.dismiss", what)
				}
				require.Equal(t, after.ID, claim.ID, what)
				require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
				if way.statement != "" {
					b.revoke(boss, "ann")
				}
			}
		}

		// A run has no right that its token has lost: to other projects, or to secrets.
		ann := b.client("acme", "ann", runapi.Request)
		ask(ann, runapi.NewRun{Operation: "preview"})
		change(`role = 'preview', projects = '["shop"]'`)
		claim := b.next(worker, "w", nil)
		require.True(t, claim.Withheld)
		_, err := b.stacks(claim.Token).State.Load(t.Context(), state.StackName{Project: "other", Name: "dev"})
		require.ErrorContains(t, err, "does not allow")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		b.revoke(boss, "ann")

		// One that may have created objects needs attention, as without that, also if somebody else tries it again.
		ann = b.client("acme", "ann", runapi.Request)
		run := ask(ann, runapi.NewRun{})
		name := state.StackName{Project: "shop", Name: "dev"}
		claim = b.wait(worker)
		const pending = `{"version":3,"deployment":{"manifest":{"time":"2026-11-23T00:00:00Z","magic":"","version":""},"pending_operations":[{"type":"creating","resource":{"urn":"urn:pulumi:dev::shop::a:b:C::d","custom":true,"type":"a:b:C"}}]}}`
		require.NoError(t, b.stacks(claim.Token).State.Create(t.Context(), name, []byte(pending)))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "it could not be recorded"}))
		b.revoke(boss, "ann")
		for range 2 {
			require.Equal(t, runapi.Attention, b.run(boss, run.ID).State)
			call(boss, "/v1/runs/"+run.ID+"/retry")
			require.Nil(t, b.next(worker, "w", nil))
		}
		require.Contains(t, b.run(boss, run.ID).Reason, "was revoked")
		require.Contains(t, strings.Join(b.lines(boss, run.ID), "\n"), "May exist without a record: urn:pulumi:dev::shop::a:b:C::d")
		own := ask(boss, runapi.NewRun{})
		require.True(t, b.next(worker, "w", nil).StopOnPending, "%s meets what was left", own.ID)
	})
}

// An approval counts while who gave it may approve. Then somebody else approves the same plan.
func TestApprovalsCountWhileTheApproverMay(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		o.RequireApproval = true
		b := open(t, o)
		boss, ann, worker := b.client("acme", "boss", runapi.Admin), b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		approve := func(c *runapi.Client, id string) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+id+"/approve", nil, nil)
			return err
		}
		minute, week := time.Now().Add(-time.Minute).UnixMilli(), time.Now().Add(-8*24*time.Hour).UnixMilli()
		for _, way := range []struct{ reason, statement string }{
			{"the approval of bob counts no more: the token was revoked", ""},
			{"the token has expired", fmt.Sprint("expires = ", minute)},
			{"the token has expired", fmt.Sprint("kind = 'login', expires = ", week)},
			{"the token was ended by the issuer of its login", fmt.Sprint("kind = 'login', ended = 1, expires = ", minute)},
			{"the token does not allow this any more: it needs the role approve", "role = 'request'"},
			{"the token is for the project shop no more", `projects = '["other"]'`},
			{"", fmt.Sprint("kind = 'login', expires = ", minute)},
		} {
			for _, lost := range []bool{false, true} {
				if lost && way.statement != "" {
					continue
				}
				bob := b.client("acme", "bob", runapi.Approve)
				run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
				require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
				require.NoError(t, approve(bob, run.ID))
				if lost {
					b.wait(worker)
					require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET lease = 1 WHERE id = ?", run.ID))
					require.Eventually(t, func() bool { return b.run(ann, run.ID).State == runapi.Queued }, time.Minute, 10*time.Millisecond)
				}
				if way.statement == "" {
					b.revoke(boss, "bob")
				} else {
					require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET "+way.statement+" WHERE name = 'bob'"))
				}
				claim := b.next(worker, "w", nil)
				if way.reason != "" {
					require.Nil(t, claim, way.reason)
					is := b.run(ann, run.ID)
					require.Equal(t, runapi.Waiting, is.State)
					require.Empty(t, is.ApprovedBy)
					require.Contains(t, is.Reason, way.reason)
					lines := strings.Join(b.lines(ann, run.ID), "\n")
					require.Contains(t, lines, way.reason)
					require.Contains(t, lines, "Somebody else is to approve the run: husk remote approve "+run.ID)
					require.Equal(t, http.StatusForbidden, status(approve(ann, run.ID)))
					require.Nil(t, b.next(worker, "w", nil))
					require.NoError(t, approve(boss, run.ID))
					require.Empty(t, b.run(ann, run.ID).Reason)
					claim = b.next(worker, "w", nil)
				}
				require.NotNil(t, claim, "%v: %+v", way, b.run(ann, run.ID))
				require.Equal(t, []any{run.ID, "plan", false, lost}, []any{claim.ID, string(claim.Plan), claim.Previewing, claim.StopOnPending})
				require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
				if way.statement != "" {
					b.revoke(boss, "bob")
				}
			}
		}
	})
}
