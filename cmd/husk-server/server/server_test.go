package server_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/workspace"
)

// bench is a server with clients.
type bench struct {
	t      *testing.T
	server *server.Server
	url    string
}

func open(t *testing.T, o server.Options) *bench {
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	s, err := server.Open(t.Context(), o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Stop()
		h.Close()
		require.NoError(t, s.Close())
	})
	return &bench{t, s, h.URL}
}

// everywhere runs a test with each database.
func everywhere(t *testing.T, test func(t *testing.T, o server.Options)) {
	t.Run("sqlite", func(t *testing.T) { test(t, server.Options{}) })
	t.Run("postgres", func(t *testing.T) {
		p := postgrestest.Start(t)
		test(t, server.Options{Database: p.URL("postgres", 0)})
	})
}

// client returns that of a new token.
func (b *bench) client(tenant, name string, role runapi.Role, projects ...string) *runapi.Client {
	b.t.Helper()
	token, err := b.server.IssueToken(b.t.Context(), runapi.Token{Tenant: tenant, Name: name, Role: role, Projects: projects})
	require.NoError(b.t, err)
	client, err := runapi.NewClient(b.url, token.Secret)
	require.NoError(b.t, err)
	return client
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ask asks for a run.
func (b *bench) ask(c *runapi.Client, n runapi.NewRun) (*runapi.Run, error) {
	b.t.Helper()
	if n.Bundle == "" {
		n.Bundle = digest("files")
		if err := c.SendBundle(b.t.Context(), n.Bundle, []byte("files")); err != nil {
			return nil, err
		}
	}
	if n.Operation == "" {
		n.Operation = "up"
	}
	var run runapi.Run
	_, err := c.CallFor(b.t.Context(), 0, http.MethodPost, "/v1/runs", n, &run)
	return &run, err
}

func (b *bench) asked(c *runapi.Client, n runapi.NewRun) *runapi.Run {
	b.t.Helper()
	run, err := b.ask(c, n)
	require.NoError(b.t, err)
	return run
}

// next takes a run as a worker, nil if there is none.
func (b *bench) next(c *runapi.Client, name string, labels map[string]string) *runapi.Claim {
	b.t.Helper()
	var claim runapi.Claim
	some, err := c.Call(b.t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: name, Labels: labels, Slots: 1}, &claim)
	require.NoError(b.t, err)
	if !some {
		return nil
	}
	return &claim
}

func (b *bench) of(claim *runapi.Claim) *runapi.Client {
	b.t.Helper()
	client, err := runapi.NewClient(b.url, claim.Token)
	require.NoError(b.t, err)
	return client
}

func (b *bench) end(claim *runapi.Claim, e runapi.End) error {
	_, err := b.of(claim).CallFor(b.t.Context(), 0, http.MethodPost, "/v1/work/end", e, nil)
	return err
}

func (b *bench) run(c *runapi.Client, id string) runapi.Run {
	b.t.Helper()
	var run runapi.Run
	_, err := c.Call(b.t.Context(), http.MethodGet, "/v1/runs/"+id, nil, &run)
	require.NoError(b.t, err)
	return run
}

// log returns the log of a run, and follows it to its end.
func (b *bench) log(c *runapi.Client, id string) (lines []string) {
	b.t.Helper()
	require.NoError(b.t, c.Follow(b.t.Context(), id, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
		if l != nil {
			lines = append(lines, l.Stream+": "+l.Text)
		}
		return r == nil || !r.State.IsFinal(), nil
	}))
	return lines
}

func status(err error) int {
	var refused *runapi.StatusError
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

func TestRuns(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		require.Nil(t, b.next(worker, "w", nil))

		first := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Options: []string{"--target=x"}, Message: "why"})
		second := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Operation: "destroy"})
		other := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "prod"})
		require.Equal(t, runapi.Queued, first.State)
		again := b.asked(ann, runapi.NewRun{ID: first.ID, Project: "shop", Stack: "dev"})
		require.Equal(t, first, again, "a request that is repeated is one")

		claim := b.next(worker, "w", nil)
		require.Equal(t, first.ID, claim.ID, "the oldest is first")
		require.Equal(t, []string{"--target=x"}, claim.Options)
		require.Equal(t, "ann", claim.By)
		require.Equal(t, other.ID, b.next(worker, "w", nil).ID, "a stack has one run at once")
		require.Nil(t, b.next(worker, "w", nil))

		content, err := b.of(claim).Send(t.Context(), 0, http.MethodGet, "/v1/work/bundle", "", nil)
		require.NoError(t, err)
		require.Equal(t, "files", string(content))
		lines := []runapi.Line{{Number: 1, Stream: runapi.Out, Text: "one\x00\xff"}, {Number: 2, Stream: runapi.Err, Text: "two"}}
		for range 2 { // an answer may be lost
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
			require.NoError(t, err)
		}
		_, err = b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: []runapi.Line{{Number: 9, Stream: runapi.Out}}}, nil)
		require.ErrorContains(t, err, "workers have sent 2 lines of the log, and the next that was sent is 9")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed, Reason: "for a reason"}))
		require.Equal(t, http.StatusUnauthorized, status(b.end(claim, runapi.End{Outcome: runapi.Succeeded})), "a run ends once")
		require.Equal(t, []string{"out: one��", "err: two"}, b.log(ann, first.ID))
		ended := b.run(ann, first.ID)
		require.Equal(t, runapi.Failed, ended.State)
		require.Equal(t, "for a reason", ended.Reason)
		require.False(t, ended.Ended.Before(ended.Began))
		require.Equal(t, second.ID, b.next(worker, "w", nil).ID)

		var all []runapi.Run
		_, err = ann.Call(t.Context(), http.MethodGet, "/v1/runs?open&project=shop&stack=dev", nil, &all)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, second.ID, all[0].ID)
		for query, want := range map[string][]string{
			"": {other.ID, second.ID, first.ID}, "project=shop&stack=dev": {second.ID, first.ID}, "open": {other.ID, second.ID}, "limit=1": {other.ID}, "open&limit=1": {other.ID},
			"project=shop": {other.ID, second.ID, first.ID}, "stack=prod": {other.ID},
		} {
			_, err = ann.Call(t.Context(), http.MethodGet, "/v1/runs?"+query, nil, &all)
			require.NoError(t, err)
			var ids []string
			for _, run := range all {
				ids = append(ids, run.ID)
			}
			require.Equal(t, want, ids, "the newest first: %s", query)
		}
		var s runapi.Status
		_, err = ann.Call(t.Context(), http.MethodGet, "/v1/status", nil, &s)
		require.NoError(t, err)
		require.Equal(t, map[runapi.State]int{runapi.Running: 2}, s.Runs)
		require.Equal(t, map[runapi.State]int{runapi.Failed: 1}, s.Last)
		require.Len(t, s.Workers, 1)
	})
}

// A worker numbers its lines without those of the server, which come between them: none is lost, in this attempt or the next.
func TestLinesOfTheServerComeBetween(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim := b.next(worker, "w", nil)
		say := func(from int64, lines ...string) {
			t.Helper()
			var sent []runapi.Line
			for i, text := range lines {
				sent = append(sent, runapi.Line{Number: from + int64(i), Stream: runapi.Out, Text: text})
			}
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: sent}, nil)
			require.NoError(t, err)
		}
		say(claim.Next, "one")
		_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
		require.NoError(t, err)
		say(claim.Next, "one", "two") // the answer to the first was lost
		say(claim.Next+2, "three")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
		require.Equal(t, []string{"out: one", "server: Cancelled by ann.", "out: two", "out: three"}, b.log(ann, run.ID))

		run = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim = b.next(worker, "w", nil)
		say(claim.Next, "begun")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued}))
		claim = b.next(worker, "w", nil)
		say(claim.Next, "begun again")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Equal(t, []string{"out: begun", "server: The worker w stops: the run goes on elsewhere.", "out: begun again"}, b.log(ann, run.ID))
	})
}

func TestLabels(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	eu := b.asked(ann, runapi.NewRun{Project: "a", Stack: "eu", Labels: map[string]string{"region": "eu"}})
	any := b.asked(ann, runapi.NewRun{Project: "a", Stack: "any"})
	require.Equal(t, any.ID, b.next(worker, "us", map[string]string{"region": "us"}).ID)
	require.Nil(t, b.next(worker, "us", map[string]string{"region": "us"}))
	require.Equal(t, eu.ID, b.next(worker, "eu", map[string]string{"region": "eu", "disk": "ssd"}).ID)
}

// A worker that waits gets a run as soon as there is one.
func TestWorkersWait(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	got := make(chan string)
	go func() {
		var claim runapi.Claim
		_, _ = worker.Call(t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "w", Slots: 1, Seconds: 50}, &claim)
		got <- claim.ID
	}()
	run := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	require.Equal(t, run.ID, <-got)
}

// Many workers at once take each run once, and never two of a stack.
func TestManyWorkers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("*", "fleet", runapi.Work)
		const stacks, each = 6, 5
		for i := range stacks * each {
			b.asked(ann, runapi.NewRun{Project: "a", Stack: fmt.Sprint("s", i%stacks)})
		}
		var mu sync.Mutex
		busy, seen := map[string]bool{}, map[string]bool{}
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for {
					claim := b.next(worker, fmt.Sprint("w", w), nil)
					mu.Lock()
					done := len(seen) == stacks*each
					if claim != nil {
						if seen[claim.ID] || busy[claim.Stack] {
							t.Errorf("the run %s of %s was given twice, or beside another", claim.ID, claim.Stack)
						}
						seen[claim.ID], busy[claim.Stack] = true, true
					}
					mu.Unlock()
					if claim == nil {
						if done {
							return
						}
						time.Sleep(time.Millisecond)
						continue
					}
					mu.Lock()
					busy[claim.Stack] = false
					mu.Unlock()
					if err := b.end(claim, runapi.End{Outcome: runapi.Succeeded}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// A worker that is silent loses its run, and its token and leases with it, to the next.
func TestLostWorkers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Lease = time.Second
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		name := state.StackName{Project: "shop", Name: "dev"}
		var last *runapi.Claim
		for attempt := 1; attempt <= 3; attempt++ {
			claim := b.wait(worker)
			require.Equal(t, run.ID, claim.ID)
			require.Equal(t, attempt, claim.Attempt)
			require.Equal(t, attempt > 1, claim.StopOnPending)
			require.Equal(t, attempt > 1, slices.Contains(claim.Options, "--stop-on-pending"), "earlier versions of workers know the option alone")
			if last != nil {
				_, err := b.of(last).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
				require.Equal(t, http.StatusUnauthorized, status(err), "its token is void")
			}
			stacks := b.stacks(claim.Token)
			if attempt == 1 {
				require.NoError(t, stacks.State.Create(t.Context(), name, []byte("{}")))
			}
			_, err := stacks.State.Lease(t.Context(), name, state.Holder{Command: "up"})
			require.NoError(t, err, "the lease of the lost worker has ended")
			last = claim
		}
		lines := b.log(ann, run.ID)
		require.Len(t, lines, 3)
		require.Contains(t, lines[0], "server: The worker w has not been heard of for 1s.")
		failed := b.run(ann, run.ID)
		require.Equal(t, runapi.Failed, failed.State)
		require.Contains(t, failed.Reason, "3 workers were lost with the run")
	})
}

// wait takes the next run, when there is one.
func (b *bench) wait(worker *runapi.Client) *runapi.Claim {
	b.t.Helper()
	var claim runapi.Claim
	for {
		some, err := worker.Call(b.t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "w", Slots: 1, Seconds: 20}, &claim)
		require.NoError(b.t, err)
		if some {
			return &claim
		}
	}
}

// stacks opens the backend that a token gives.
func (b *bench) stacks(token string) *backend.Backend {
	b.t.Helper()
	opened, err := remote.Open(b.t.Context(), named.ByOperator(strings.Replace(b.url, "://", "://:"+token+"@", 1), "the test"), b.t.TempDir())
	require.NoError(b.t, err)
	b.t.Cleanup(opened.Close)
	return opened
}

// A worker that says that it is there keeps its run, and one that stops gives it back.
func TestBeatsAndDraining(t *testing.T) {
	const lease = 2 * time.Second
	b := open(t, server.Options{Lease: lease})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.wait(worker)
	for end := time.Now().Add(lease * 5 / 2); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
		require.NoError(t, err)
	}
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued}))
	claim = b.next(worker, "other", nil)
	require.Equal(t, run.ID, claim.ID)
	require.Equal(t, 1, claim.Attempt, "a worker that stops is not lost")
}

func TestCancel(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	cancel := func(id string, call ...string) error {
		path := "/v1/runs/" + id + "/cancel"
		if len(call) > 0 {
			path += "?call=" + call[0]
		}
		_, err := ann.CallFor(t.Context(), 0, http.MethodPost, path, nil, nil)
		return err
	}
	queued := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	require.NoError(t, cancel(queued.ID))
	require.Equal(t, runapi.Cancelled, b.run(ann, queued.ID).State)
	require.Equal(t, http.StatusConflict, status(cancel(queued.ID)))

	b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.next(worker, "w", nil)
	for want := range 3 {
		var answer runapi.Answer
		_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, &answer)
		require.NoError(t, err)
		require.Equal(t, want, answer.Cancel)
		require.NoError(t, cancel(claim.ID))
	}
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	require.Equal(t, runapi.Cancelled, b.run(ann, claim.ID).State)
	require.Equal(t, http.StatusNotFound, status(cancel("NONE")))

	// An attempt whose answer was lost does not have steps stopped that are to end.
	b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim = b.next(worker, "w", nil)
	call := rand.Text()
	for range 3 {
		require.NoError(t, cancel(claim.ID, call))
	}
	var answer runapi.Answer
	_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, &answer)
	require.NoError(t, err)
	require.Equal(t, 1, answer.Cancel)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	require.NoError(t, cancel(claim.ID, call))
	require.Equal(t, http.StatusBadRequest, status(cancel(claim.ID, "x")))
}

func TestApproval(t *testing.T) {
	b := open(t, server.Options{RequireApproval: true})
	ann, bob := b.client("acme", "ann", runapi.Approve), b.client("acme", "bob", runapi.Approve)
	carl, worker := b.client("acme", "carl", runapi.Request), b.client("acme", "w", runapi.Work)
	decide := func(c *runapi.Client, id, what string) error {
		_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+id+"/"+what, nil, nil)
		return err
	}
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	require.Equal(t, http.StatusConflict, status(decide(bob, run.ID, "approve")), "there is nothing to approve yet")
	claim := b.next(worker, "w", nil)
	require.True(t, claim.Previewing)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("the plan")}))
	require.Equal(t, runapi.Waiting, b.run(ann, run.ID).State)
	later := b.asked(bob, runapi.NewRun{Project: "shop", Stack: "dev"})
	require.Nil(t, b.next(worker, "w", nil), "what waits is not overtaken")
	require.ErrorContains(t, decide(ann, run.ID, "approve"), "ann asked for the run "+run.ID+", which somebody else is to approve")
	require.Equal(t, http.StatusForbidden, status(decide(carl, run.ID, "approve")))
	require.NoError(t, decide(bob, run.ID, "approve"))
	claim = b.next(worker, "w", nil)
	require.Equal(t, run.ID, claim.ID)
	require.False(t, claim.Previewing)
	require.Equal(t, "the plan", string(claim.Plan))
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	require.Equal(t, "bob", b.run(ann, run.ID).ApprovedBy)

	claim = b.next(worker, "w", nil)
	require.Equal(t, later.ID, claim.ID)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	require.NoError(t, decide(ann, later.ID, "reject"))
	require.Equal(t, runapi.Rejected, b.run(ann, later.ID).State)

	preview := b.asked(carl, runapi.NewRun{Project: "shop", Stack: "dev", Operation: "preview"})
	require.False(t, preview.Approval)
	err := b.stacks(carl.Token()).State.Create(t.Context(), state.StackName{Project: "shop", Name: "dev"}, []byte("{}"))
	require.ErrorContains(t, err, "only runs write to the stack shop/dev", "what needs approval is not done past it")
	log := b.audit(b.client("acme", "dee", runapi.Admin))
	require.Regexp(t, `^carl\|carl\|127.0.0.1\|refused\|POST /v1/state/create\|.*only runs write to the stack shop/dev$`, log[len(log)-2])
}

// What each role may do, and no more.
func TestRoles(t *testing.T) {
	b := open(t, server.Options{})
	require.NotNil(t, b.client("acme", "worker", runapi.Work))
	calls := []struct {
		name  string
		least runapi.Role
		do    func(c *runapi.Client) error
	}{
		{"see runs", runapi.Read, func(c *runapi.Client) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs", nil, nil)
			return err
		}},
		{"see the status", runapi.Read, func(c *runapi.Client) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodGet, "/v1/status", nil, nil)
			return err
		}},
		{"request a preview", runapi.Preview, func(c *runapi.Client) error {
			_, err := b.ask(c, runapi.NewRun{Project: "a", Stack: "s", Operation: "preview"})
			return err
		}},
		{"request a run", runapi.Request, func(c *runapi.Client) error {
			_, err := b.ask(c, runapi.NewRun{Project: "a", Stack: "s"})
			return err
		}},
		{"make a schedule", runapi.Admin, func(c *runapi.Client) error {
			schedule := runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "a", Stack: "s", Operation: "refresh", Bundle: digest("files")}}
			_, err := c.CallFor(t.Context(), 0, http.MethodPut, "/v1/schedules/nightly", schedule, nil)
			return err
		}},
		{"see tokens", runapi.Admin, func(c *runapi.Client) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodGet, "/v1/tokens", nil, nil)
			return err
		}},
		{"take a run", runapi.Work, func(c *runapi.Client) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "w"}, nil)
			return err
		}},
		{"decrypt", runapi.Request, func(c *runapi.Client) error {
			_, err := b.stacks(c.Token()).Keys.Encrypt(t.Context(), []byte("key"))
			return err
		}},
	}
	rank := func(r runapi.Role) int {
		for i, one := range runapi.Roles {
			if one == r {
				return i
			}
		}
		return -1
	}
	for _, role := range append([]runapi.Role{runapi.Work}, runapi.Roles...) {
		c := b.client("acme", "the "+string(role), role)
		for _, call := range calls {
			allowed := call.least == role || call.least != runapi.Work && role != runapi.Work && rank(role) >= rank(call.least)
			err := call.do(c)
			require.Equal(t, allowed, err == nil, "%s may %s: %v", role, call.name, err)
		}
	}
	// A token for some projects is for no others.
	shop := b.client("acme", "shop only", runapi.Request, "shop-*")
	_, err := b.ask(shop, runapi.NewRun{Project: "bank", Stack: "s"})
	require.ErrorContains(t, err, "the token shop only is not for the project bank")
	_, err = b.ask(shop, runapi.NewRun{Project: "shop-eu", Stack: "s"})
	require.NoError(t, err)
	require.NoError(t, b.stacks(shop.Token()).State.Create(t.Context(), state.StackName{Project: "shop-eu", Name: "s"}, []byte("{}")))
	require.Error(t, b.stacks(shop.Token()).State.Create(t.Context(), state.StackName{Project: "bank", Name: "s"}, []byte("{}")))
}

func TestTokens(t *testing.T) {
	b := open(t, server.Options{})
	admin := b.client("acme", "admin", runapi.Admin)
	var issued runapi.Token
	_, err := admin.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "ann", Role: runapi.Read, Expires: time.Now().Add(time.Hour)}, &issued)
	require.NoError(t, err)
	ann, err := runapi.NewClient(b.url, issued.Secret)
	require.NoError(t, err)
	var who runapi.Who
	_, err = ann.Call(t.Context(), http.MethodGet, "/v1/whoami", nil, &who)
	require.NoError(t, err)
	require.Equal(t, runapi.Who{Name: "ann", Tenant: "acme", Role: runapi.Read, Person: "admin"}, who)
	_, err = admin.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", runapi.Token{Name: "ann", Role: runapi.Read}, nil)
	require.Equal(t, http.StatusConflict, status(err))
	var all []runapi.Token
	_, err = admin.Call(t.Context(), http.MethodGet, "/v1/tokens", nil, &all)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Empty(t, all[1].Secret)
	require.Equal(t, "admin", all[1].By)
	require.WithinDuration(t, time.Now(), all[1].Used, time.Hour)
	_, err = admin.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "zoe", Role: runapi.Read}, nil)
	require.NoError(t, err)
	_, err = admin.Call(t.Context(), http.MethodGet, "/v1/tokens", nil, &all)
	require.NoError(t, err)
	require.Zero(t, all[2].Used)
	_, err = admin.Call(t.Context(), http.MethodDelete, "/v1/tokens/ann", nil, nil)
	require.NoError(t, err)
	_, err = ann.CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
	require.ErrorContains(t, err, "the token is not one of this server, or was revoked")
	_, err = admin.CallFor(t.Context(), 0, http.MethodDelete, "/v1/tokens/ann", nil, nil)
	require.Equal(t, http.StatusNotFound, status(err))

	old, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "old", Role: runapi.Read, Expires: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	_, err = admin.With(old.Secret).CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
	require.ErrorContains(t, err, "the token old of acme has expired")
	for _, wrong := range []runapi.Token{
		{Tenant: "A", Name: "x", Role: runapi.Read}, {Tenant: "acme", Role: runapi.Read}, {Tenant: "acme", Name: "x", Role: "god"},
		{Tenant: "*", Name: "x", Role: runapi.Admin}, {Tenant: "acme", Name: "x\n", Role: runapi.Read}, {Tenant: "acme", Name: "x", Role: runapi.Read, Projects: []string{"["}},
	} {
		_, err := b.server.IssueToken(t.Context(), wrong)
		require.Error(t, err, "%+v", wrong)
	}
}

// Nothing of one tenant reaches another.
func TestTenants(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		const canary = "canary-7261"
		name := state.StackName{Project: "shop", Name: "dev"}
		ann, eve := b.client("acme", "ann", runapi.Admin), b.client("evil", "eve", runapi.Admin)
		evesWorker := b.client("evil", "w", runapi.Work)
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Message: canary})
		require.NoError(t, ann.SendBundle(t.Context(), digest(canary), []byte(canary)))
		mine := b.stacks(ann.Token())
		require.NoError(t, mine.State.Create(t.Context(), name, []byte(`{"canary":"`+canary+`"}`)))
		_, err := mine.KV.Save(t.Context(), name, "random", []byte(canary), "")
		require.NoError(t, err)
		require.NoError(t, mine.Modules.Put(t.Context(), digest(canary), func() ([]byte, error) { return []byte(canary), nil }))
		sealed, err := mine.Keys.Encrypt(t.Context(), []byte(canary))
		require.NoError(t, err)
		require.NotContains(t, string(sealed), canary)
		opened, err := mine.Keys.Decrypt(t.Context(), sealed)
		require.NoError(t, err)
		require.Equal(t, canary, string(opened))

		require.Nil(t, b.next(evesWorker, "w", nil))
		theirs := b.stacks(eve.Token())
		stacks, err := theirs.State.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, stacks)
		_, err = theirs.State.Load(t.Context(), name)
		require.ErrorIs(t, err, state.ErrStackNotFound)
		content, _, err := theirs.KV.Load(t.Context(), name, "random")
		require.NoError(t, err)
		require.Empty(t, content)
		has, err := theirs.Modules.Has(t.Context(), digest(canary))
		require.NoError(t, err)
		require.False(t, has)
		_, err = theirs.Keys.Decrypt(t.Context(), sealed)
		require.ErrorContains(t, err, "was not encrypted by this server for this tenant")
		for _, path := range []string{"/v1/runs/" + run.ID, "/v1/runs/" + run.ID + "/log"} {
			_, err := eve.CallFor(t.Context(), 0, http.MethodGet, path, nil, nil)
			require.Equal(t, http.StatusNotFound, status(err), path)
		}
		for _, what := range []string{"cancel", "approve", "reject"} {
			_, err := eve.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+run.ID+"/"+what, nil, nil)
			require.Equal(t, http.StatusNotFound, status(err), what)
		}
		_, err = b.ask(eve, runapi.NewRun{Project: "shop", Stack: "dev", Bundle: digest(canary)})
		require.ErrorContains(t, err, "is not here: send it first")
		_, err = b.ask(eve, runapi.NewRun{ID: run.ID, Project: "shop", Stack: "dev"})
		require.Equal(t, http.StatusConflict, status(err))
		for _, path := range []string{"/v1/runs", "/v1/schedules", "/v1/tokens", "/v1/status"} {
			answer, err := eve.Send(t.Context(), 0, http.MethodGet, path, "", nil)
			require.NoError(t, err)
			require.NotContains(t, string(answer), canary)
			require.NotContains(t, string(answer), "ann")
			require.NotContains(t, string(answer), run.ID)
		}
		// A run writes its own stack, and no other.
		claim := b.next(b.client("*", "fleet", runapi.Work), "w", nil)
		require.Equal(t, run.ID, claim.ID)
		own := b.stacks(claim.Token)
		_, err = own.State.Load(t.Context(), name)
		require.NoError(t, err)
		require.Error(t, own.State.Create(t.Context(), state.StackName{Project: "shop", Name: "prod"}, []byte("{}")))
		_, err = b.of(claim).CallFor(t.Context(), 0, http.MethodGet, "/v1/runs", nil, nil)
		require.Equal(t, http.StatusForbidden, status(err))
	})
}

// What a worker did without a connection is reported once.
func TestReports(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Read), b.client("acme", "edge", runapi.Work)
	report := runapi.Report{
		Run: runapi.Run{
			NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "shop", Stack: "till", Operation: "up", Bundle: digest("files")},
			State:  runapi.Succeeded, Worker: "edge-1", Made: time.Now(), Began: time.Now(), Ended: time.Now(),
		},
		Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Text: "done"}},
	}
	for range 2 {
		_, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"out: done"}, b.log(ann, report.ID))
	report.State = runapi.Running
	_, err := worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/report", report, nil)
	require.Equal(t, http.StatusBadRequest, status(err))
}

// What is wrong is refused with what is wrong.
func TestBadRequests(t *testing.T) {
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Admin)
	for want, n := range map[string]runapi.NewRun{
		"the operation":                 {Project: "a", Stack: "s", Operation: "explode"},
		"cannot have the option":        {Project: "a", Stack: "s", Options: []string{"--policy-pack=/etc"}},
		"cannot have the option --yes":  {Project: "a", Stack: "s", Options: []string{"--yes"}},
		"cannot have the option up":     {Project: "a", Stack: "s", Options: []string{"up"}},
		"is none in a bundle":           {Project: "a", Stack: "s", Directory: "../x"},
		"has 26 upper-case letters":     {ID: "x", Project: "a", Stack: "s"},
		"the bundle \"x\"":              {Project: "a", Stack: "s", Bundle: "x"},
		"is not here: send it first":    {Project: "a", Stack: "s", Bundle: digest("other")},
		"a preview changes nothing":     {Project: "a", Stack: "s", Operation: "preview", Approval: true},
		"the label \"a b\"":             {Project: "a", Stack: "s", Labels: map[string]string{"a b": "c"}},
		"a stack":                       {Project: "a", Stack: "../s"},
		"and a message of at most 4096": {Project: "a", Stack: "s", Message: strings.Repeat("x", 5000)},
	} {
		_, err := b.ask(ann, n)
		require.ErrorContains(t, err, want)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusConflict}, status(err), want)
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPost, "/v1/runs", `{"project": 1}`, http.StatusBadRequest},
		{http.MethodPost, "/v1/runs", `{"unknown": 1}`, http.StatusBadRequest},
		{http.MethodGet, "/v1/runs?limit=x", "", http.StatusBadRequest},
		{http.MethodGet, "/nothing", "", http.StatusNotFound},
		{http.MethodPut, "/v1/bundles/" + digest("a"), "b", http.StatusBadRequest},
		{http.MethodPost, "/v1/work/beat", `{}`, http.StatusForbidden},
	} {
		_, err := ann.Send(t.Context(), 0, c.method, c.path, "application/json", []byte(c.body))
		require.Equal(t, c.want, status(err), "%s %s: %v", c.method, c.path, err)
	}
	resp, err := http.Get(b.url + "/v1/runs")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}

// A server that is started again knows what was, and one with another key says so.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	b := &bench{t, s, h.URL}
	ann := b.client("acme", "ann", runapi.Request)
	run := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	sealed, err := b.stacks(ann.Token()).Keys.Encrypt(t.Context(), []byte("key"))
	require.NoError(t, err)
	s.Stop()
	h.Close()
	require.NoError(t, s.Close())

	b = open(t, server.Options{Dir: dir})
	client, err := runapi.NewClient(b.url, ann.Token())
	require.NoError(t, err)
	require.Equal(t, runapi.Queued, b.run(client, run.ID).State)
	key, err := b.stacks(ann.Token()).Keys.Decrypt(t.Context(), sealed)
	require.NoError(t, err)
	require.Equal(t, "key", string(key))
}

// What pg_dump has written, and the key of the server, are all of a server: docs/runners.md says so.
func TestBackupOfPostgreSQL(t *testing.T) {
	dump, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Skip("pg_dump is not installed")
	}
	p := postgrestest.Start(t)
	o := server.Options{Dir: t.TempDir(), Database: p.URL("postgres", 0)}
	b := open(t, o)
	ann := b.client("acme", "ann", runapi.Request)
	run := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	dev := state.StackName{Project: "a", Name: "dev"}
	require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), dev, []byte(`{"a":1}`)))
	sealed, err := b.stacks(ann.Token()).Keys.Encrypt(t.Context(), []byte("key"))
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "backup.sql")
	p.Execute(t, "postgres", "CREATE DATABASE restored")
	o.Database = p.URL("restored", 0)
	for _, command := range [][]string{{dump, "--file", file, p.URL("postgres", 0)}, {"psql", "--quiet", "--set=ON_ERROR_STOP=1", "--file", file, o.Database}} {
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	restored := open(t, o)
	require.Equal(t, runapi.Queued, restored.run(restored.of(&runapi.Claim{Token: ann.Token()}), run.ID).State)
	stacks := restored.stacks(ann.Token())
	c, err := stacks.State.Load(t.Context(), dev)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(c.Checkpoint))
	key, err := stacks.Keys.Decrypt(t.Context(), sealed)
	require.NoError(t, err)
	require.Equal(t, "key", string(key))
}

func TestWrongKeysAndPlaces(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir})
	require.NoError(t, err)
	_, err = s.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "ann", Role: runapi.Request})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	t.Setenv(server.KeyVariable, "short")
	_, err = server.Open(t.Context(), server.Options{Dir: dir})
	require.ErrorContains(t, err, "the key of the server, in HUSK_SERVER_KEY, must have 64 hexadecimal digits")
	t.Setenv(server.KeyVariable, strings.Repeat("ab", 32))
	_, err = server.Open(t.Context(), server.Options{Dir: dir})
	require.ErrorContains(t, err, "the key of the tenant acme is encrypted with the key of another server")
	t.Setenv(server.KeyVariable, "")
	for want, database := range map[string]string{
		"--database must be a URL such as postgres": "mysql://x",
		"the database of --database":                "postgres://127.0.0.1:1/none?connect_timeout=1",
	} {
		_, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), Database: database})
		require.ErrorContains(t, err, want)
	}
}

// keysOf makes and opens secrets providers with the key that the server keeps, or with a passphrase.
type keysOf struct {
	service    secrets.KeyService
	passphrase string
}

func (k keysOf) keys() secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(name string) (string, bool) { return k.passphrase, name == "HUSK_CONFIG_PASSPHRASE" },
		Service:   func(string) (secrets.KeyService, error) { return k.service, nil },
	}
}

func (k keysOf) New(ctx context.Context) (secrets.Provider, error) {
	if k.passphrase != "" {
		p, err := k.keys().Passphrase()
		if err != nil {
			return nil, err
		}
		return secrets.NewPassphrase(p)
	}
	return k.keys().NewCloud(ctx, workspace.ServerKey)
}

func (k keysOf) Open(ctx context.Context, typ string, of json.RawMessage) (secrets.Provider, error) {
	return k.keys().Open(ctx, typ, of)
}

// The modules that no stack names are removed also if states are encrypted, as long as the server has their keys. It looks
// into no other keys, whatever a state names.
func TestModulesOfEncryptedStacks(t *testing.T) {
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the server")
	dir := t.TempDir()
	b := open(t, server.Options{Dir: dir})
	mine := b.stacks(b.client("acme", "ann", runapi.Request).Token())
	put := func(content string) string {
		require.NoError(t, mine.Modules.Put(t.Context(), digest(content), func() ([]byte, error) { return []byte(content), nil }))
		return digest(content)
	}
	create := func(stack string, keys keysOf, module string) {
		name := state.StackName{Project: "shop", Name: stack}
		store := sealed.New(mine, keys, sealed.Full).Backend().State
		urn := func(typ string) string { return "urn:pulumi:" + stack + "::shop::" + typ + "::default" }
		checkpoint := fmt.Sprintf(`{"version":3,"checkpoint":{"stack":%q,"latest":{"manifest":{"time":"2026-01-01T00:00:00Z"},"resources":[`+
			`{"urn":%q,"custom":true,"id":"1","type":"pulumi:providers:lab","inputs":{"__internal":{"digest":%q}}}]}}}`, name.Qualified(), urn("pulumi:providers:lab"), module)
		require.NoError(t, store.Create(t.Context(), name, []byte(checkpoint)))
		c, err := mine.State.Load(t.Context(), name)
		require.NoError(t, err)
		require.NotContains(t, string(c.Checkpoint), module, "it is encrypted")
	}
	old := func() {
		db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "tenants", "acme.db"))+"?_pragma=busy_timeout(15000)")
		require.NoError(t, err)
		_, err = db.Exec("UPDATE kept SET at = 1")
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	has := func(module string) bool {
		has, err := mine.Modules.Has(t.Context(), module)
		require.NoError(t, err)
		return has
	}
	used, unused := put("used"), put("unused")
	create("server", keysOf{service: mine.Keys}, used)
	old()
	require.NoError(t, mine.Modules.Collect(t.Context(), nil))
	require.True(t, has(used))
	require.False(t, has(unused))

	another := put("another")
	create("passphrase", keysOf{passphrase: "of the server"}, used)
	old()
	err := mine.Modules.Collect(t.Context(), nil)
	require.ErrorContains(t, err, "one of the stacks on the server may name any module")
	require.ErrorContains(t, err, "the server has the keys only of stacks that use husk://default")
	require.True(t, has(another))
}
