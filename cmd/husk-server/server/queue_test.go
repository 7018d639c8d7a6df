package server_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/runapi"
)

// A run whose stack another run has is tried again, later and not for ever.
func TestTriedAgain(t *testing.T) {
	b := open(t, server.Options{Lease: time.Second})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	later := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.wait(worker)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "another run has the lock"}))
	again := b.run(ann, run.ID)
	require.Equal(t, runapi.Queued, again.State)
	require.Empty(t, again.Reason)
	tries := 1
	for ; ; tries++ {
		claim := b.wait(worker)
		if claim.ID == later.ID {
			break
		}
		require.Equal(t, 1, claim.Attempt, "no worker was lost")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "another run has the lock"}))
	}
	require.Equal(t, 10, tries)
	failed := b.run(ann, run.ID)
	require.Equal(t, runapi.Failed, failed.State)
	require.Equal(t, "another run has the lock", failed.Reason)
	require.Contains(t, b.log(ann, run.ID)[0], "The run is tried again in ")
}

// A preview that was cancelled while it ended waits for nobody's approval.
func TestCancelledPreview(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true})
	claim := b.next(worker, "w", nil)
	require.True(t, claim.Previewing)
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("{}")}))
	require.Equal(t, runapi.Cancelled, b.run(ann, run.ID).State)
}

// A worker whose token is for some projects takes the runs of these.
func TestProjectsOfWorkers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, shops := b.client("acme", "ann", runapi.Request), b.client("acme", "shops", runapi.Work, "shop-*")
		b.asked(ann, runapi.NewRun{Project: "bank", Stack: "dev"})
		require.Nil(t, b.next(shops, "w", nil))
		run := b.asked(ann, runapi.NewRun{Project: "shop-eu", Stack: "dev"})
		require.Equal(t, run.ID, b.next(shops, "w", nil).ID)
		require.Nil(t, b.next(shops, "w", nil))
	})
}

// A run that waits wakes the workers that can take it, and a run that ends those of the next of its stack.
func TestWaking(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	claims := make(chan *runapi.Claim)
	wait := func(name string, labels map[string]string) {
		go func() {
			var claim runapi.Claim
			if some, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: name, Labels: labels, Slots: 1, Seconds: 50}, &claim); some && err == nil {
				claims <- &claim
			}
		}()
	}
	eu := map[string]string{"region": "eu"}
	wait("plain", nil)
	first := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	claim := <-claims
	require.Equal(t, first.ID, claim.ID)
	wait("plain", nil)
	wait("eu", eu)
	second := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s", Labels: eu})
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	claim = <-claims
	require.Equal(t, second.ID, claim.ID)
	require.Equal(t, "eu", claim.Worker)
	other := b.asked(ann, runapi.NewRun{Project: "a", Stack: "t"})
	require.Equal(t, other.ID, (<-claims).ID)
}

// A list has as many runs of the caller's projects as were asked for, whatever came between.
func TestListsOfSomeProjects(t *testing.T) {
	b := open(t, server.Options{})
	ann, shop := b.client("acme", "ann", runapi.Request), b.client("acme", "shop", runapi.Read, "shop")
	want := []string{b.asked(ann, runapi.NewRun{Project: "shop", Stack: "one"}).ID, b.asked(ann, runapi.NewRun{Project: "shop", Stack: "two"}).ID}
	for range 250 {
		b.asked(ann, runapi.NewRun{Project: "bank", Stack: "dev", Bundle: digest("files")})
	}
	var all []runapi.Run
	_, err := shop.Call(t.Context(), http.MethodGet, "/v1/runs?limit=2", nil, &all)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, want, []string{all[1].ID, all[0].ID})
}

// A destruction that was approved is not done to a stack which was changed after its preview.
func TestApprovalOfWhatIsThere(t *testing.T) {
	b := open(t, server.Options{RequireApproval: true})
	ann, bob, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Admin), b.client("acme", "w", runapi.Work)
	name, people := state.StackName{Project: "shop", Name: "dev"}, b.stacks(bob.Token()).State
	require.NoError(t, people.Create(t.Context(), name, []byte("{}")))
	write := func(store state.Store) error {
		l, err := store.Lease(t.Context(), name, state.Holder{Command: "up"})
		if err != nil {
			return err
		}
		c, err := l.Load(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Append(t.Context(), c.Sequence+uint64(len(c.Records))+1, []byte("record")))
		return l.Release(t.Context())
	}
	for _, operation := range []string{"destroy", "refresh"} {
		approved := func() *runapi.Claim {
			run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Operation: operation})
			claim := b.wait(worker)
			require.True(t, claim.Previewing)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
			_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
			require.NoError(t, err)
			return b.wait(worker)
		}
		claim := approved()
		require.NoError(t, write(b.stacks(claim.Token).State), "nobody has changed it")
		require.NoError(t, write(b.stacks(claim.Token).State), "the run itself has")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))

		claim = approved()
		require.NoError(t, write(people))
		require.ErrorContains(t, write(b.stacks(claim.Token).State), "the stack dev was changed after the preview that bob has approved: ask for the run "+operation+" again")
		require.NoError(t, write(people), "the lease has ended")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	}
}

// Schedules that were set before the server wanted approval need it, but for those that change nothing.
func TestSchedulesNeedApproval(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	b := &bench{t, s, h.URL}
	admin, work := b.client("acme", "admin", runapi.Admin), b.client("acme", "w", runapi.Work)
	require.NoError(t, admin.SendBundle(t.Context(), digest("files"), []byte("files")))
	for stack, options := range map[string][]string{"changes": nil, "looks": {"--preview-only=true"}} {
		schedule := runapi.Schedule{Cron: "@every 1s", Run: runapi.NewRun{Project: "shop", Stack: stack, Operation: "refresh", Bundle: digest("files"), Options: options}}
		_, err := admin.Call(t.Context(), http.MethodPut, "/v1/schedules/"+stack, schedule, nil)
		require.NoError(t, err)
	}
	s.Stop()
	h.Close()
	require.NoError(t, s.Close())

	restarted := time.Now()
	b = open(t, server.Options{Dir: dir, RequireApproval: true})
	worker, err := runapi.NewClient(b.url, work.Token())
	require.NoError(t, err)
	seen := map[string]bool{}
	for len(seen) < 2 {
		claim := b.wait(worker)
		if claim.Made.After(restarted) { // else the first server has queued it
			seen[claim.Stack] = true
			require.Equal(t, claim.Stack == "changes", claim.Previewing, claim.Stack)
		}
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	}
}

// Runs that were queued before the server wanted approval are held, and so are those that go on after their worker was lost.
func TestQueuedRunsNeedApproval(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir, o.Lease = t.TempDir(), time.Second
		var ann, worker *runapi.Client
		runs := map[string]*runapi.Run{}
		t.Run("before", func(t *testing.T) {
			b := open(t, o)
			ann, worker = b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
			runs["lost"] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "lost"})
			require.False(t, b.next(worker, "gone", nil).Previewing)
			for _, operation := range runapi.Operations {
				runs[operation] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: operation, Operation: operation})
			}
			runs["looks"] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "looks", Operation: "destroy", Options: []string{"--preview-only"}})
		})
		o.RequireApproval = true
		b := open(t, o)
		bob := b.client("acme", "bob", runapi.Approve)
		ann, worker = bob.With(ann.Token()), bob.With(worker.Token())
		for range runs {
			claim := b.wait(worker)
			held := claim.Stack != "preview" && claim.Stack != "looks"
			require.Equal(t, held, claim.Previewing, claim.Stack)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan of " + claim.Stack)}))
			run := b.run(ann, claim.ID)
			require.Equal(t, held, run.Approval)
			if !held {
				require.Equal(t, runapi.Succeeded, run.State)
				continue
			}
			require.Equal(t, runapi.Waiting, run.State, claim.Stack)
		}
		_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+runs["up"].ID+"/approve", nil, nil)
		require.NoError(t, err)
		claim := b.wait(worker)
		require.Equal(t, runs["up"].ID, claim.ID)
		require.False(t, claim.Previewing)
		require.Equal(t, "plan of up", string(claim.Plan))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Equal(t, "server: The server has been started with --require-approval since this was asked for: it is previewed first.", b.log(ann, claim.ID)[0])
	})
}

// The times of a report of a machine whose clock is wrong are those of now.
func TestReportsOfWrongClocks(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "edge", runapi.Work)
	for id, began := range map[string]time.Time{
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ": time.UnixMilli(0), "BBCDEFGHIJKLMNOPQRSTUVWXYZ": time.Now().Add(1000 * time.Hour), "CBCDEFGHIJKLMNOPQRSTUVWXYZ": {},
	} {
		report := runapi.Report{
			Run: runapi.Run{
				NewRun: runapi.NewRun{ID: id, Project: "shop", Stack: "till", Operation: "up", Bundle: digest("files")},
				State:  runapi.Succeeded, Worker: "edge-1", Made: began, Began: began, Ended: began.Add(time.Minute),
			},
			Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Time: began, Text: "done"}},
		}
		_, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
		require.NoError(t, err)
		run := b.run(ann, id)
		require.WithinDuration(t, time.Now(), run.Ended, time.Minute)
		require.Equal(t, time.Minute, run.Ended.Sub(run.Began))
	}
	// The end of a run that the server knows is not reported again.
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "till"})
	claim := b.next(worker, "edge-1", nil)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	report := runapi.Report{Run: claim.Run, Of: run.ID}
	report.ID, report.State, report.Ended = "DBCDEFGHIJKLMNOPQRSTUVWXYZ", runapi.Succeeded, time.Now()
	_, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
	require.NoError(t, err)
	_, err = ann.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs/"+report.ID, nil, nil)
	require.Equal(t, http.StatusNotFound, status(err))
}

// A run whose watch was lost, as River gives a job up that fails again and again, is taken from its worker nevertheless.
func TestLostWatches(t *testing.T) {
	o := server.Options{Dir: t.TempDir(), Lease: time.Second}
	b := open(t, o)
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	require.Equal(t, run.ID, b.next(worker, "w", nil).ID)
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(o.Dir, "server.db"))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec("DELETE FROM river_job WHERE kind = 'husk_watch'")
	require.NoError(t, err)
	require.Equal(t, 2, b.wait(worker).Attempt)
}

// Files of projects are kept for a day, and as long as an open run or a schedule needs them.
func TestBundlesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	var ann, worker *runapi.Client
	t.Run("before", func(t *testing.T) {
		b := open(t, server.Options{Dir: dir})
		ann, worker = b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		for _, content := range []string{"ended", "queued", "scheduled", "new", "unused"} {
			require.NoError(t, ann.SendBundle(t.Context(), digest(content), []byte(content)))
		}
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "ended", Bundle: digest("ended")})
		require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "queued", Bundle: digest("queued")})
		schedule := runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "shop", Stack: "s", Operation: "refresh", Bundle: digest("scheduled")}}
		_, err := ann.Call(t.Context(), http.MethodPut, "/v1/schedules/nightly", schedule, nil)
		require.NoError(t, err)
	})
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "server.db"))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE husk_bundles SET made = ? WHERE digest <> ?", time.Now().Add(-25*time.Hour).UnixMilli(), digest("new"))
	require.NoError(t, err)
	kept := func() (all []string) {
		for _, content := range []string{"ended", "queued", "scheduled", "new", "unused"} {
			var n int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM husk_bundles WHERE digest = ?", digest(content)).Scan(&n))
			if n > 0 {
				all = append(all, content)
			}
		}
		return all
	}
	require.Len(t, kept(), 5)
	open(t, server.Options{Dir: dir})
	require.Eventually(t, func() bool { return len(kept()) < 5 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"queued", "scheduled", "new"}, kept())
	require.NoError(t, db.Close())
}
