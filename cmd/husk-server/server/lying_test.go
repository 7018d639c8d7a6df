package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// raw sends a request to the server without a network. The body is a text, fields of a call about states, or a value for JSON.
func (b *bench) raw(authorization, method, path string, body any) (int, string) {
	b.t.Helper()
	var content []byte
	contentType := "application/json"
	switch body := body.(type) {
	case nil:
	case string:
		content = []byte(body)
	case fields:
		var err error
		content, err = strictcbor.Marshal(map[string]any(body))
		require.NoError(b.t, err)
	default:
		var err error
		content, err = json.Marshal(body)
		require.NoError(b.t, err)
	}
	if strings.HasPrefix(path, remote.Path) {
		contentType = "application/cbor"
	}
	req := httptest.NewRequestWithContext(b.t.Context(), method, path, bytes.NewReader(content))
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	b.server.ServeHTTP(answer, req)
	return answer.Code, answer.Body.String()
}

// TestLyingWorkersAndClients has workers and clients of one team send forged requests to a server that they share with another
// team. No answer shows anything of the other team, and nothing of it changes.
func TestLyingWorkersAndClients(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	const canary = "canary"
	name := state.StackName{Project: "a", Name: "dev"}

	// The other team: runs in each state, a schedule, states, and keys.
	ann, annsWorker := b.client("acme", "ann", runapi.Admin), b.client("acme", "canary-w", runapi.Work)
	files := "canary files"
	require.NoError(t, ann.SendBundle(t.Context(), digest(files), []byte(files)))
	ended := b.asked(ann, runapi.NewRun{Project: "a", Stack: "dev", Bundle: digest(files), Message: canary})
	claim := b.next(annsWorker, "canary-worker", nil)
	_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Text: canary}}}, nil)
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	waiting := b.asked(ann, runapi.NewRun{Project: "a", Stack: "waiting", Bundle: digest(files), Approval: true})
	require.NoError(t, b.end(b.next(annsWorker, "canary-worker", nil), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("canary plan")}))
	running := b.asked(ann, runapi.NewRun{Project: "a", Stack: "running", Bundle: digest(files)})
	held := b.next(annsWorker, "canary-worker", nil)
	queued := b.asked(ann, runapi.NewRun{Project: "a", Stack: "queued", Bundle: digest(files), Labels: map[string]string{"region": "eu"}})
	schedule := runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "a", Stack: "dev", Operation: "refresh", Bundle: digest(files)}}
	_, err = ann.Call(t.Context(), http.MethodPut, "/v1/schedules/canary-schedule", schedule, nil)
	require.NoError(t, err)
	calls := newStateCalls(name, state.StackName{Project: "a", Name: "second"})
	for _, c := range calls.mine {
		status, answer := b.state(ann.Token(), c.name, c.fields)
		require.False(t, failed(status, answer), "%s: %s", c.name, answer)
	}
	sealed, err := b.stacks(ann.Token()).Keys.Encrypt(t.Context(), []byte(canary))
	require.NoError(t, err)
	runs := map[string]*runapi.Run{"ended": ended, "waiting": waiting, "running": running, "queued": queued}
	mallory := b.client("acme", "mallory", runapi.Admin, "b") // of the same team, for another project
	before := b.snapshot(ann, runs)

	// The attackers: a team with a worker, a run that it has, one that has ended, and one that was approved.
	eve, worker := b.client("evil", "eve", runapi.Admin), b.client("evil", "w", runapi.Work)
	require.NoError(t, eve.SendBundle(t.Context(), digest("files"), []byte("files")))
	own := runapi.NewRun{Project: "a", Stack: "dev", Operation: "up", Bundle: digest("files")}
	mine := b.asked(eve, own)
	token := b.next(worker, "w", nil).Token
	over := own
	over.Stack = "over"
	b.asked(eve, over)
	stale := b.next(worker, "w", nil)
	require.NoError(t, b.end(stale, runapi.End{Outcome: runapi.Failed}))
	previewed := own
	previewed.Stack, previewed.Approval = "previewed", true
	approvedRun := b.asked(eve, previewed)
	require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("the plan")}))
	_, err = b.client("evil", "frank", runapi.Approve).Call(t.Context(), http.MethodPost, "/v1/runs/"+approvedRun.ID+"/approve", nil, nil)
	require.NoError(t, err)
	approved := b.next(worker, "w", nil)

	ask := func(n runapi.NewRun, change func(*runapi.NewRun)) runapi.NewRun {
		change(&n)
		return n
	}
	now := time.Now()
	report := func(change func(*runapi.Report)) runapi.Report {
		r := runapi.Report{Run: runapi.Run{NewRun: own, State: runapi.Succeeded, Worker: "w", Made: now, Began: now, Ended: now}}
		r.ID = rand.Text()
		change(&r)
		return r
	}
	lines := func(all ...runapi.Line) runapi.Beat { return runapi.Beat{Lines: all} }
	stack, lease := calls.stack, calls.lease
	const post, get, put = http.MethodPost, http.MethodGet, http.MethodPut
	const run, w, e, m, none = "run", "worker", "eve", "mallory", "none"
	tokens := map[string]string{run: token, w: worker.Token(), e: eve.Token(), m: mallory.Token(), "stale": stale.Token, "approved": approved.Token, none: ""}
	reported := report(func(r *runapi.Report) {
		r.By, r.ApprovedBy, r.Attempt = "ann", "ann", 7
		r.Made, r.Began, r.Ended = now.Add(1000*time.Hour), now.Add(1000*time.Hour), now.Add(1001*time.Hour)
		r.Lines = []runapi.Line{{Number: 1, Stream: runapi.Server, Text: "Approved by ann."}}
	})
	const fenced, missing = -1, -2 // errors in the answers of /v1/state
	cases := []struct {
		what, who, method, path string
		body                    any
		want                    int
	}{
		// Workers ask for runs of others.
		{"the runs of others by their labels", w, post, "/v1/work/next", runapi.Ask{Worker: "w", Slots: 1, Labels: map[string]string{"region": "eu"}}, 204},
		{"a team in a question", w, post, "/v1/work/next", `{"worker":"w","tenant":"acme"}`, 400},
		{"the name of their worker", w, post, "/v1/work/next", runapi.Ask{Worker: "canary-worker", Slots: 9}, 204},
		{"a million slots", w, post, "/v1/work/next", runapi.Ask{Worker: "w", Slots: 1_000_000}, 400},
		{"a label with a line", w, post, "/v1/work/next", runapi.Ask{Worker: "w", Labels: map[string]string{"region": "eu\nteam=acme"}}, 400},
		{"more labels than there are", w, post, "/v1/work/next", runapi.Ask{Worker: "w", Labels: manyLabels(33)}, 400},
		{"a worker that beats for all", w, post, "/v1/work/beat", lines(), 403},
		{"a worker that ends all", w, post, "/v1/work/end", runapi.End{Outcome: runapi.Failed}, 403},
		{"files without a run", w, get, "/v1/work/bundle", nil, 403},
		{"a client that takes runs", e, post, "/v1/work/next", runapi.Ask{Worker: "w"}, 403},
		{"states with the token of a worker", w, post, remote.Path + "list", fields{}, 403},
		// Forged lines of a log.
		{"a place in the log after its end", run, post, "/v1/work/beat", lines(runapi.Line{Number: 100, Stream: runapi.Out}), 409},
		{"a place before the log", run, post, "/v1/work/beat", lines(runapi.Line{Number: -1, Stream: runapi.Out, Text: "before"}), 200},
		{"the greatest place", run, post, "/v1/work/beat", lines(runapi.Line{Number: 1<<63 - 1, Stream: runapi.Out}), 409},
		{"a stream that is none", run, post, "/v1/work/beat", lines(runapi.Line{Number: 1, Stream: "forged"}), 400},
		{"no stream", run, post, "/v1/work/beat", lines(runapi.Line{Number: 1}), 400},
		{"what the server says", run, post, "/v1/work/beat", lines(runapi.Line{Number: 1, Stream: runapi.Server, Text: "Approved by ann."}), 200},
		{"what no database takes", run, post, "/v1/work/beat", `{"lines":[{"number":2,"stream":"out","text":"a\u0000b\ud800"}]}`, 200},
		{"a long line", run, post, "/v1/work/beat", lines(runapi.Line{Number: 3, Stream: runapi.Out, Text: strings.Repeat("x", 1<<20)}), 200},
		{"half a million lines of nothing", run, post, "/v1/work/beat", `{"lines":[` + strings.Repeat(`{},`, 1<<19) + `{}]}`, 400},
		{"lines as a text", run, post, "/v1/work/beat", `{"lines":"x"}`, 400},
		{"the log of another run", run, post, "/v1/work/beat", `{"id":"` + running.ID + `","lines":[]}`, 400},
		{"two messages", run, post, "/v1/work/beat", `{}{"lines":[]}`, 400},
		// Forged outcomes.
		{"an end as approved", run, post, "/v1/work/end", runapi.End{Outcome: runapi.Waiting}, 400},
		{"an end as rejected", run, post, "/v1/work/end", runapi.End{Outcome: runapi.Rejected}, 400},
		{"an end as running", run, post, "/v1/work/end", runapi.End{Outcome: runapi.Running}, 400},
		{"no outcome", run, post, "/v1/work/end", `{}`, 400},
		{"another plan than was approved", "approved", post, "/v1/work/end", runapi.End{Outcome: runapi.Queued, Plan: []byte("another")}, 204},
		{"a run that has ended, again", "stale", post, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, 401},
		{"the log of a run that has ended", "stale", post, "/v1/work/beat", lines(runapi.Line{Number: 1, Stream: runapi.Out, Text: "late"}), 401},
		{"the files of a run that has ended", "stale", get, "/v1/work/bundle", nil, 401},
		{"the stacks of a run that has ended", "stale", post, remote.Path + "list", fields{}, 401},
		// The token of a run, for other runs and stacks.
		{"another run", run, get, "/v1/runs/" + ended.ID, nil, 403},
		{"another log", run, get, "/v1/runs/" + ended.ID + "/log", nil, 403},
		{"tokens", run, post, "/v1/tokens", runapi.Token{Name: "x", Role: runapi.Admin}, 403},
		{"approval of itself", run, post, "/v1/runs/" + mine.ID + "/approve", nil, 403},
		{"another stack of its project", run, post, remote.Path + "create", fields{"stack": fields{"Project": "a", "Name": "other"}, "call": rand.Text(), "content": []byte("{}")}, 403},
		{"the stack of the same name", run, post, remote.Path + "load", stack, missing},
		{"the lease of others", run, post, remote.Path + "leased-load", stack.with(fields{"lease": lease}), fenced},
		{"a record with the lease of others", run, post, remote.Path + "append", stack.with(fields{"lease": lease, "call": rand.Text(), "sequence": 2, "content": []byte("forged")}), fenced},
		{"the call of others again", run, post, remote.Path + "lease", calls.mine[5].fields, missing},
		{"a module of others", run, post, remote.Path + "modules/get", fields{"id": digest("canary module")}, missing},
		{"a key of others", run, post, remote.Path + "keys/decrypt", fields{"content": sealed}, missing},
		{"the greatest sequence", run, post, remote.Path + "append", stack.with(fields{"lease": rand.Text(), "call": rand.Text(), "sequence": uint64(1<<64 - 1)}), fenced},
		// Forged reports of edge workers.
		{"a report with the ID of their run", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.ID = running.ID }), 400},
		{"the end of their run", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.Of = running.ID }), 400},
		{"a report of what runs", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.State = runapi.Running }), 400},
		{"a report of a path", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.Project = "../acme/a" }), 400},
		{"a report with a path for its ID", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.ID = "../../../../../../etc/x" }), 400},
		{"a worker that rings", w, post, "/v1/work/report", report(func(r *runapi.Report) { r.Worker = "w\a" }), 400},
		{"a report that ann has approved", w, post, "/v1/work/report", reported, 204},
		// What runs have made and could not record.
		{"what a run of others has made", w, post, "/v1/work/unrecorded", runapi.Unrecorded{Run: running.ID, Token: token}, 404},
		{"what a run makes that goes on", w, post, "/v1/work/unrecorded", runapi.Unrecorded{Run: mine.ID, Token: token}, 503},
		{"what a run has made that has ended", w, post, "/v1/work/unrecorded", runapi.Unrecorded{Run: stale.ID, Token: stale.Token}, 410},
		{"what a path has made", w, post, "/v1/work/unrecorded", runapi.Unrecorded{Run: "../../" + running.ID, Token: token}, 400},
		{"more records than steps", w, post, "/v1/work/unrecorded", `{"run":"` + mine.ID + `","records":[` + strings.Repeat(`{"sequence":1,"record":"AAAAAAAAAAAAAAAA"},`, remote.MaxUnrecorded) + `{}]}`, 400},
		{"what the run of a client has made", e, post, "/v1/work/unrecorded", runapi.Unrecorded{Run: mine.ID, Token: token}, 403},
		// Forged requests of clients.
		{"files that are others", e, put, "/v1/bundles/" + digest("x"), "y", 400},
		{"files of others", e, http.MethodHead, "/v1/bundles/" + digest(files), nil, 404},
		{"a run with files of others", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Bundle = digest(files) }), 409},
		{"a run with the ID of theirs", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.ID = running.ID }), 409},
		{"a run with a path for its ID", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.ID = "../../../../../../../../aa" }), 400},
		{"a directory outside", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Directory = "a/../../b" }), 400},
		{"an absolute directory", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Directory = "/etc" }), 400},
		{"an option of the worker", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Options = []string{"--cwd=/etc"} }), 400},
		{"an option that is two", e, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Options = []string{"--target", "--cwd=/etc"} }), 400},
		{"a run of another team", e, post, "/v1/runs", `{"tenant":"acme","project":"a","stack":"dev"}`, 400},
		{"a run of another project", m, post, "/v1/runs", ask(own, func(n *runapi.NewRun) { n.Bundle = digest(files) }), 403},
		{"a schedule of another project", m, put, "/v1/schedules/canary-schedule", schedule, 403},
		{"the schedule of another project", m, http.MethodDelete, "/v1/schedules/canary-schedule", nil, 403},
		{"the log of another project", m, get, "/v1/runs/" + ended.ID + "/log", nil, 404},
		{"approval in another team", e, post, "/v1/runs/" + waiting.ID + "/approve", nil, 404},
		{"approval in another project", m, post, "/v1/runs/" + waiting.ID + "/approve", nil, 404},
		{"the end of a run of others", e, post, "/v1/runs/" + running.ID + "/cancel", nil, 404},
		{"a schedule that is a path", e, put, "/v1/schedules/..%2Fnightly", schedule, 400},
		{"a line before the first", e, get, "/v1/runs/" + mine.ID + "/log?after=-1", nil, 400},
		{"a team in a question of a client", e, get, "/v1/runs?tenant=acme", nil, 200},
		{"a token of another team", e, post, "/v1/tokens", runapi.Token{Name: "thief", Tenant: "acme", Role: runapi.Read}, 200},
		{"a token of another person", e, post, "/v1/tokens", runapi.Token{Name: "x", Role: runapi.Approve, Person: "ann"}, 403},
		{"a token with a role of its own", e, post, "/v1/tokens", runapi.Token{Name: "x", Role: "god"}, 400},
		{"a token whose name is not for a terminal", e, post, "/v1/tokens", runapi.Token{Name: "ann\u202e", Role: runapi.Read}, 400},
		{"the token of another team", e, http.MethodDelete, "/v1/tokens/ann", nil, 404},
		{"a token with nothing in its name", e, http.MethodDelete, "/v1/tokens/%00", nil, 400},
		{"a call that is none", e, post, remote.Path + "..%2F..%2Fv1%2Ftokens", fields{}, 404},
		{"a call to read", e, get, remote.Path + "list", nil, 405},
		{"a call of indefinite length", e, post, remote.Path + "list", "\xbf\xff", 400},
		{"a call with a tag", e, post, remote.Path + "list", "\xa1\x62id\xc0\x60", 400},
		{"no token", none, get, "/v1/whoami", nil, 401},
	}
	require.GreaterOrEqual(t, len(cases), 40)
	for _, c := range cases {
		status, answer := b.raw("Bearer "+tokens[c.who], c.method, c.path, c.body)
		switch c.want {
		case fenced, missing:
			require.True(t, failed(status, answer), "%s: %d %s", c.what, status, answer)
			require.Less(t, status, 500, c.what)
			require.Equal(t, c.want == fenced, strings.Contains(answer, "fenced"), "%s: %s", c.what, answer)
		default:
			require.Equal(t, c.want, status, "%s: %s", c.what, answer)
		}
		require.NotContains(t, strings.ReplaceAll(answer, "canary-schedule", ""), canary, c.what) // the name of the schedule was in the request
	}
	for _, authorization := range []string{"", "Bearer", "Bearer ../x", "Basic " + eve.Token(), "bearer " + eve.Token(), "Bearer " + eve.Token() + " ", "Bearer " + eve.Token() + "," + eve.Token(), "Bearer %"} {
		status, _ := b.raw(authorization, get, "/v1/runs", nil)
		require.Equal(t, http.StatusUnauthorized, status, authorization)
	}

	require.Equal(t, before, b.snapshot(ann, runs), "nothing was changed")
	_, err = b.of(held).Call(t.Context(), post, "/v1/work/beat", runapi.Beat{}, nil)
	require.NoError(t, err, "its worker has the run still")
	status, answer := b.state(ann.Token(), "beat", stack.with(fields{"lease": lease}))
	require.False(t, failed(status, answer), answer)
	var said runapi.Status
	_, err = ann.Call(t.Context(), get, "/v1/status", nil, &said)
	require.NoError(t, err)
	require.Len(t, said.Workers, 1)
	require.Equal(t, 1, said.Workers[0].Slots, "a worker of another team with its name is another")
	// What the attackers were allowed to store is in their own team.
	require.Equal(t, []string{"worker: Approved by ann.", "out: a\uFFFDb\uFFFD", "out: " + strings.Repeat("x", 256<<10)}, b.lines(eve, mine.ID))
	told := b.run(eve, reported.ID)
	require.Equal(t, "w", told.By)
	require.Empty(t, told.ApprovedBy)
	require.WithinDuration(t, time.Now(), told.Ended, time.Minute)
	require.Equal(t, []string{"worker: Approved by ann."}, b.log(eve, reported.ID))
	var all []runapi.Token
	_, err = ann.Call(t.Context(), get, "/v1/tokens", nil, &all)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(all, func(t runapi.Token) bool { return t.Name == "thief" }))
	for again := b.next(worker, "w", nil); ; again = b.wait(worker) {
		if again != nil && again.ID == approvedRun.ID {
			require.Equal(t, "the plan", string(again.Plan), "it does what was approved")
			break
		}
	}
}

func manyLabels(n int) map[string]string {
	all := map[string]string{}
	for len(all) < n {
		all["l"+rand.Text()] = "x"
	}
	return all
}

// TestWaysAroundApproval tries ways by another server of the database, at the same time, by what is left of the preview, by other names and
// spellings, by workers of who asks and of who approves, by other files, by the plan of another run, by asking again, by schedules in the name
// of others, by what an approved run may write, by other methods, and by tokens that are gone.
func TestWaysAroundApproval(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		o.RequireApproval, o.Dir = true, t.TempDir()
		b := open(t, o)
		second := b
		if o.Database != "" {
			second = open(t, o)
		}
		ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
		eve := b.client("acme", "eve", runapi.Approve)
		elsewhere := func(c *runapi.Client) *runapi.Client {
			other, err := runapi.NewClient(second.url, c.Token())
			require.NoError(t, err)
			return other
		}
		decide := func(c *runapi.Client, id, what string) int {
			_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+id+"/"+what, nil, nil)
			return status(err)
		}
		previewed := func(stack string) *runapi.Claim {
			t.Helper()
			b.asked(ann, runapi.NewRun{Project: "shop", Stack: stack})
			claim := b.wait(worker)
			require.True(t, claim.Previewing)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
			return claim
		}

		// Another server of the database knows who has asked.
		var friend runapi.Token
		_, err := elsewhere(ann).Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "friend", Role: runapi.Approve}, &friend)
		require.NoError(t, err)
		run := previewed("elsewhere")
		for _, c := range []*runapi.Client{ann, ann.With(friend.Secret)} {
			require.Equal(t, http.StatusForbidden, decide(elsewhere(c), run.ID, "approve"))
		}
		require.Zero(t, decide(bob, run.ID, "reject"))

		// Of two decisions at once, one counts.
		for range 5 {
			run := previewed("at-once")
			all := map[string]func() int{
				"bob": func() int { return decide(bob, run.ID, "approve") }, "eve": func() int { return decide(elsewhere(eve), run.ID, "approve") },
				"reject": func() int { return decide(elsewhere(bob), run.ID, "reject") }, "cancel": func() int { return decide(elsewhere(ann), run.ID, "cancel") },
			}
			var mu sync.Mutex
			var asking sync.WaitGroup
			codes := map[string]int{}
			for who, ask := range all {
				asking.Go(func() {
					code := ask()
					mu.Lock()
					defer mu.Unlock()
					codes[who] = code
				})
			}
			asking.Wait()
			is := b.run(bob, run.ID)
			approvals := 0
			for _, who := range []string{"bob", "eve"} {
				if codes[who] == 0 {
					approvals++
					require.Equal(t, who, is.ApprovedBy)
				}
			}
			require.LessOrEqual(t, approvals, 1, codes)
			if codes["reject"] == 0 {
				require.Zero(t, approvals, codes)
				require.Equal(t, runapi.Rejected, is.State)
			} else {
				require.Equal(t, runapi.Cancelled, is.State, codes)
			}
			require.Nil(t, b.next(worker, "w", nil))
		}

		// What is left of the preview does nothing once it is approved, nor does it name another plan.
		run = previewed("left")
		require.Zero(t, decide(bob, run.ID, "approve"))
		name := state.StackName{Project: "shop", Name: "left"}
		require.Equal(t, http.StatusUnauthorized, status(b.end(run, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("another plan")})))
		require.ErrorContains(t, b.stacks(run.Token).State.Create(t.Context(), name, []byte("{}")), "not one of this server")
		_, err = worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/unrecorded", runapi.Unrecorded{Run: run.ID, Token: run.Token, Records: []runapi.StateRecord{{Sequence: 1, Record: []byte("x")}}}, nil)
		require.Equal(t, http.StatusGone, status(err))
		claim := b.wait(worker)
		require.Equal(t, "plan", string(claim.Plan))
		require.NoError(t, b.stacks(claim.Token).State.Create(t.Context(), name, []byte(`{}`)))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))

		// Calls about states with the token of an admin, and with that of an approver, change nothing.
		calls := newStateCalls(name, state.StackName{Project: "shop", Name: "other"})
		looks := map[string]bool{"check": true, "list": true, "load": true, "history": true, "backups": true, "backup": true, "modules/has": true, "modules/get": true, "modules/keep": true,
			"kv/list": true, "kv/load": true, "runs/list": true, "runs/get": true, "keys/encrypt": true, "keys/decrypt": true}
		tried := maps.Clone(looks)
		for _, c := range append(calls.theirs, stateCall{"modules/collect", fields{"call": rand.Text()}}) {
			for _, who := range []*runapi.Client{ann, bob} {
				code, answer := b.state(who.Token(), c.name, c.fields)
				refused := code == http.StatusForbidden || strings.Contains(answer, "only runs write to the stack")
				require.True(t, looks[c.name] || refused, "%s: %d %s", c.name, code, answer)
			}
			tried[c.name] = true
		}
		require.Equal(t, remote.Operations(), slices.Sorted(maps.Keys(tried)))

		// Who merges at a host of repositories is the person of the login there.
		hooked, err := b.server.Ask(t.Context(), webhook.Asker{Team: "acme", Name: "webhook shop", Person: "ann", Role: runapi.Request, Project: "shop"},
			runapi.NewRun{Project: "shop", Stack: "hooked", Operation: "up", Bundle: digest("files")})
		require.NoError(t, err)
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		for _, c := range []*runapi.Client{ann, ann.With(friend.Secret)} {
			require.Equal(t, http.StatusForbidden, decide(c, hooked.ID, "approve"))
		}

		// A name in other letters is no other person, who approves, or whose worker, also one of all teams, takes the run.
		issued := func(tenant, person string, role runapi.Role) *runapi.Client {
			token, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: tenant, Name: rand.Text(), Role: role, Person: person})
			require.NoError(t, err)
			return ann.With(token.Secret)
		}
		queued := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "spelled"})
		spellings := []string{"ann", "Ann", "ANN", " ann", "ann ", "ＡＮＮ", "a\u200bnn", "\ufeffann", "aⁿn", "a\u00adnn", "ann\ufe0f"}
		for _, person := range spellings {
			require.Equal(t, http.StatusForbidden, decide(issued("acme", person, runapi.Approve), hooked.ID, "approve"), "%q", person)
			for _, of := range []string{"acme", "*"} {
				require.Nil(t, b.next(issued(of, person, runapi.Work), "hers", nil), "%q of %s", person, of)
			}
		}

		// The machine of who approves shows no plan, and does nothing of what was approved.
		bobs := issued("*", "BOB", runapi.Work)
		claim = b.next(bobs, "bobs", nil)
		require.Equal(t, queued.ID, claim.ID)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("the plan of bob")}))
		require.Equal(t, http.StatusForbidden, decide(bob, queued.ID, "approve"))
		b.revoke(ann, "w") // whoever the worker was
		worker = b.client("acme", "w", runapi.Work)
		require.Equal(t, http.StatusForbidden, decide(issued("acme", "Bob", runapi.Approve), queued.ID, "approve"))
		require.Zero(t, decide(eve, queued.ID, "approve"))
		for _, of := range []string{"acme", "*"} {
			for _, person := range []string{"Eve", "ＥＶＥ", "ann"} {
				require.NotEqual(t, queued.ID, idOf(b.next(issued(of, person, runapi.Work), "eves", nil)), "%q of %s", person, of)
			}
		}
		for claim := b.next(worker, "w", nil); claim != nil; claim = b.next(worker, "w", nil) {
			if claim.ID == queued.ID {
				require.Equal(t, "the plan of bob", string(claim.Plan))
			}
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
		}
		require.Equal(t, runapi.Failed, b.run(ann, queued.ID).State, "that worker had it")

		// Other files, another plan, and another run are not what was approved.
		one, two := previewed("one"), previewed("two")
		for _, body := range []any{map[string]any{"plan": []byte("another")}, map[string]string{"run": one.ID}, "{}"} {
			_, _ = b.raw("Bearer "+bob.Token(), http.MethodPost, "/v1/runs/"+two.ID+"/approve?run="+one.ID+"&plan="+one.ID, body)
		}
		require.Contains(t, []int{0, http.StatusConflict}, decide(bob, two.ID, "approve"))
		code, _ := b.raw("Bearer "+ann.Token(), http.MethodPut, "/v1/bundles/"+digest("files"), "other files")
		require.Equal(t, http.StatusBadRequest, code)
		require.Equal(t, runapi.Waiting, b.run(ann, one.ID).State)
		claim = b.wait(worker)
		require.Equal(t, []string{two.ID, "plan", digest("files")}, []string{claim.ID, string(claim.Plan), claim.Bundle})
		_, files := b.raw("Bearer "+claim.Token, http.MethodGet, "/v1/work/bundle", nil)
		require.Equal(t, "files", files)

		// An approved run writes its own stack, and no other, nor as another.
		approved := b.stacks(claim.Token).State
		own, others := state.StackName{Project: "shop", Name: "two"}, state.StackName{Project: "shop", Name: "others"}
		require.NoError(t, approved.Create(t.Context(), own, []byte(`{}`)))
		require.ErrorContains(t, approved.Create(t.Context(), others, []byte(`{}`)), "does not allow")
		l, _, err := approved.LeaseAndLoad(t.Context(), own, state.Holder{})
		require.NoError(t, err)
		require.ErrorContains(t, l.Rename(t.Context(), others, []byte(`{}`)), "does not allow")
		_, err = approved.Lease(t.Context(), name, state.Holder{})
		require.ErrorContains(t, err, "does not allow")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Error(t, approved.Create(t.Context(), own, []byte(`{}`)))

		// What was done once is not done again.
		repeated, err := b.ask(ann, runapi.NewRun{ID: two.ID, Project: "shop", Stack: "two"})
		require.NoError(t, err)
		require.Equal(t, runapi.Succeeded, repeated.State)
		for _, what := range []string{"approve", "retry", "retry?pending", "reject"} {
			require.Equal(t, http.StatusConflict, decide(bob, two.ID, what), what)
		}
		require.Nil(t, b.next(worker, "w", nil))

		// A schedule asks in the name of who has set it, and not as a run that was approved.
		body := `{"cron":"0 4 * * *","by":"bob","last":"` + two.ID + `","run":{"id":"` + two.ID + `","project":"shop","stack":"nightly","operation":"up","bundle":"` + digest("files") + `"}}`
		code, answer := b.raw("Bearer "+ann.Token(), http.MethodPut, "/v1/schedules/nightly", body)
		require.Equal(t, http.StatusOK, code, answer)
		require.NoError(t, b.server.Begin(t.Context(), "acme", "nightly"))
		claim = b.wait(worker)
		require.Equal(t, []any{"ann", "ann", true}, []any{claim.By, claim.Person, claim.Previewing})
		require.NotEqual(t, two.ID, claim.ID)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		require.Equal(t, http.StatusForbidden, decide(ann.With(friend.Secret), claim.ID, "approve"))
		require.Zero(t, decide(bob, claim.ID, "reject"))

		// No other method or place approves, nor brings in runs that are approved.
		for _, at := range []string{"GET /v1/runs/{}/approve", "HEAD /v1/runs/{}/approve", "PUT /v1/runs/{}/approve", "POST /v1/runs/{}/Approve", "POST /v1/runs/{}/approve/", "POST /v1/runs/{}%2fapprove",
			"POST /v1/runs/{}/approve/../reject", "POST /v1/import", "PUT /v1/import", "POST /v1/state/import", "PATCH /v1/runs/{}", "PUT /v1/work/end", "POST /v1/runs/{}"} {
			method, path, _ := strings.Cut(strings.ReplaceAll(at, "{}", one.ID), " ")
			code, _ := b.raw("Bearer "+bob.Token(), method, path, `{"approvedBy":"bob","state":"queued"}`)
			require.GreaterOrEqual(t, code, http.StatusMovedPermanently, at)
			require.Equal(t, runapi.Waiting, b.run(ann, one.ID).State, at)
		}
		// A run that got into the queue in another way does not begin.
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET state = 'queued', previewing = 0, ready = 1 WHERE id = ?", one.ID))
		require.Nil(t, b.next(worker, "w", nil))
		require.Equal(t, "nobody has approved it", b.run(ann, one.ID).Reason)
		require.Equal(t, runapi.Waiting, b.run(ann, one.ID).State)
		require.Zero(t, decide(bob, one.ID, "reject"))

		// Who is gone approves nothing, and is the same person in what they have asked for.
		b.revoke(bob.With(ann.Token()), "eve")
		require.Equal(t, http.StatusUnauthorized, decide(eve, hooked.ID, "approve"))
		other := previewed("of-who-left")
		b.revoke(ann, "friend")
		b.revoke(ann, "ann")
		again := b.client("acme", "ann", runapi.Approve)
		require.Equal(t, http.StatusForbidden, decide(again, other.ID, "approve"))
		require.Zero(t, decide(bob, other.ID, "approve"))
		require.Nil(t, b.next(worker, "w", nil))
		require.Equal(t, runapi.Failed, b.run(bob, other.ID).State)
	})
}

// idOf returns the ID of the run that a worker has taken, empty if it has taken none.
func idOf(claim *runapi.Claim) string {
	if claim == nil {
		return ""
	}
	return claim.ID
}
