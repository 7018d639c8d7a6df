package server

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/base/intake"
)

// River has the timers of the server: jobs that are added in the transaction of their subject. One of a database's servers does
// each when its time has come.

// scheduleArgs begin the runs of a schedule.
type scheduleArgs struct {
	Tenant  string `json:"tenant"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// At is the time of the schedule that the timer is for, in milliseconds, 0 in the timers of earlier versions. A timer may come again: its
	// server may have died after it, or hang.
	At int64 `json:"at"`
}

func (scheduleArgs) Kind() string { return "husk_schedule" }

// pruneArgs are the arguments of the job that removes old data.
type pruneArgs struct{}

func (pruneArgs) Kind() string { return "husk_prune" }

const timerTime = time.Minute

// watchArgs and sweepArgs are of timers that earlier versions add, also at the same time. [Server.mind] does what they did.
type watchArgs struct{}

func (watchArgs) Kind() string { return "husk_watch" }

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "husk_sweep" }

func ignore[T river.JobArgs](context.Context, *river.Job[T]) error { return nil }

// mind takes runs from workers that are not heard of, until the server stops, and stops it once a newer one has changed the tables too
// far. Each server does.
func (s *Server) mind() {
	ctx, stop := s.untilClosed(context.Background())
	defer stop()
	ticks := time.NewTicker(max(min(lookAgain, s.options.Lease/countParts), time.Millisecond))
	defer ticks.Stop()
	for failing := false; ; {
		select {
		case <-s.closing:
			return
		case <-ticks.C:
		}
		if s.db.isOutdated(ctx) { // others take the timers, and what waits here asks them
			s.Stop()
			if err := s.timers.Stop(context.WithoutCancel(ctx)); err != nil {
				slog.Warn("timers of a server that is outdated have not ended", "error", err)
			}
			return
		}
		err := s.sweep(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			slog.Warn("runs whose workers are lost stay where they are until this works again", "error", err)
		}
		failing = err != nil
	}
}

// sweep takes runs from workers that have not been heard of for as long as a lease lasts.
func (s *Server) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timerTime)
	defer cancel()
	const most = 100 // at once
	type held struct {
		tenant, id string
		attempt    int
	}
	var lost []held
	err := s.db.step(ctx, func(t *tx) error {
		lost = nil
		if err := t.count(s.options.Lease, max(s.options.Lease/silentParts, leastSilence)); err != nil {
			return err
		}
		return t.rows(func(scan func(...any) error) error {
			var one held
			err := scan(&one.tenant, &one.id, &one.attempt)
			lost = append(lost, one)
			return err
		}, "SELECT tenant, id, attempt FROM husk_runs WHERE state = 'running' AND lease < "+t.now()+" ORDER BY lease LIMIT ?", most)
	})
	for _, run := range lost {
		var gone *refusal
		if one := s.lose(ctx, run.tenant, run.id, run.attempt); one != nil && !errors.As(one, &gone) { // it was removed
			err = errors.Join(err, one)
		}
	}
	return err
}

const (
	// countParts is how often the servers count the time in the time of a lease, and silentParts and leastSilence are after which
	// part of it, and after which time, none of them was there.
	countParts, silentParts = 6, 3
	leastSilence            = 3 * time.Second
)

// count counts the time in which a server was there. While none was, or none had a database, no worker could be heard of: if that
// was longer than a time, leases of runs last so much longer. The clock of the database may also have been set.
func (t *tx) count(lease, silence time.Duration) error {
	var last, now int64
	if err := t.row("SELECT at, "+t.now()+" FROM husk_counted").Scan(&last, &now); err != nil {
		return err
	}
	t.clock.set(timeOf(now))
	gap := now - last
	if gap >= 0 && gap < (lease/countParts).Milliseconds() {
		return nil
	}
	n, err := t.exec("UPDATE husk_counted SET at = ? WHERE at = ?", now, last)
	if err != nil || n == 0 || gap >= 0 && gap <= silence.Milliseconds() {
		return err // another server has done it, if the row is gone
	}
	end := now + lease.Milliseconds()
	statement, args := "UPDATE husk_runs SET lease = CASE WHEN lease + ? < ? THEN lease + ? ELSE ? END WHERE state = 'running'", []any{gap, end, gap, end}
	if gap > 0 {
		statement, args = statement+" AND lease < ?", append(args, end)
	}
	_, err = t.exec(statement, args...)
	return err
}

type pruner struct {
	river.WorkerDefaults[pruneArgs]
	s *Server
}

// Work removes old data. If there is more of it than half of its time is enough for, or the server stops, it goes on later.
func (w *pruner) Work(ctx context.Context, _ *river.Job[pruneArgs]) error {
	ctx, stop := w.s.untilClosed(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timerTime/2)
	defer cancel()
	err := errors.Join(w.s.prune(ctx, w.s.db.Now()), w.s.pruneAudit(ctx, w.s.db.Now()))
	if ctx.Err() != nil {
		return w.s.db.snooze(0)
	}
	return err
}

const (
	// gone is how long workers that are not heard of are kept, and bundles that no open run and no schedule needs.
	gone = 24 * time.Hour
	// pruneRows and pruneBytes bound what a step of pruning removes. Others wait for a step.
	pruneRows, pruneBytes = 500, 4 << 20
)

// inSteps takes steps until one reports that nothing is left to do. Each step stands by itself, and between two steps others have
// as much time as one took.
func (s *Server) inSteps(ctx context.Context, do func(*tx) (more bool, err error)) error {
	for more := true; more; {
		began := time.Now()
		if err := s.db.step(ctx, func(t *tx) (err error) {
			more, err = do(t)
			return err
		}); err != nil {
			return err
		}
		select {
		case <-time.After(time.Since(began)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// prune removes runs that ended long ago, their logs, bundles that no open run nor schedule needs, and workers that are gone.
func (s *Server) prune(ctx context.Context, now time.Time) error {
	old, day := millis(now.Add(-s.options.Keep)), millis(now.Add(-gone))
	last := bundleKey{}
	moreRuns, moreBundles := true, true
	if err := s.inSteps(ctx, func(t *tx) (more bool, err error) {
		if moreRuns {
			if moreRuns, err = t.pruneRuns(old); err != nil {
				return false, err
			}
		}
		if moreBundles {
			last, moreBundles, err = t.pruneBundle(day, last)
		}
		return moreRuns || moreBundles, err
	}); err != nil {
		return err
	}
	if err := s.pruneLogins(ctx, millis(now.Add(-afterLogin))); err != nil {
		return err
	}
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM husk_workers WHERE seen < ?", day)
		return err
	})
}

// pruneRuns removes some runs that ended before a time, or some lines of the log of one, and reports whether there may be more.
func (t *tx) pruneRuns(before int64) (more bool, err error) {
	rows, bytes := pruneRows, int64(pruneBytes)
	for rows > 0 && bytes > 0 {
		var id string
		err := t.row("SELECT id FROM husk_runs WHERE ended > 0 AND ended < ? ORDER BY ended LIMIT 1", before).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		last, whole := int64(0), true
		if err := t.rows(func(scan func(...any) error) error {
			if whole = rows > 0 && bytes > 0; !whole {
				return errEnough
			}
			var size int64
			err := scan(&last, &size)
			rows, bytes = rows-1, bytes-size
			return err
		}, "SELECT number, octet_length(text) FROM husk_lines WHERE run = ? ORDER BY number LIMIT ?", id, rows+1); err != nil && !errors.Is(err, errEnough) {
			return false, err
		}
		if _, err := t.exec("DELETE FROM husk_lines WHERE run = ? AND number <= ?", id, last); err != nil || !whole {
			return true, err
		}
		var tenant string
		var kept int64
		if err := t.row("DELETE FROM husk_runs WHERE id = ? RETURNING tenant, kept", id).Scan(&tenant, &kept); err != nil {
			return false, err
		}
		t.keeps(tenant, -kept)
		rows--
	}
	return true, nil
}

// bundleKey is the place of a bundle among all, the oldest first.
type bundleKey struct {
	made           int64
	tenant, digest string
}

// pruneBundle removes the first bundle after a place that was made before a time, and that nobody needs. It returns its place, and whether
// there may be more.
func (t *tx) pruneBundle(before int64, after bundleKey) (last bundleKey, more bool, err error) {
	last, found := after, false
	n := 0
	if err := t.rows(func(scan func(...any) error) error {
		if found {
			return errEnough
		}
		needed := 0
		n++
		err := scan(&last.made, &last.tenant, &last.digest, &needed)
		found = needed == 0
		return err
	}, "SELECT made, tenant, digest, CASE WHEN EXISTS (SELECT 1 FROM husk_runs r WHERE r.tenant = husk_bundles.tenant AND r.state IN ('queued', 'running', 'waiting') AND r.bundle = husk_bundles.digest)"+
		" OR EXISTS (SELECT 1 FROM husk_schedules s WHERE s.tenant = husk_bundles.tenant AND s.bundle = husk_bundles.digest) THEN 1 ELSE 0 END"+
		" FROM husk_bundles WHERE made < ? AND (made, tenant, digest) > (?, ?, ?) ORDER BY made, tenant, digest LIMIT ?",
		before, after.made, after.tenant, after.digest, pruneRows); err != nil && !errors.Is(err, errEnough) {
		return last, false, err
	}
	if found { // unless it is used again meanwhile
		_, err = t.exec("DELETE FROM husk_bundles WHERE tenant = ? AND digest = ? AND made < ?", last.tenant, last.digest, before)
	}
	return last, found || n == pruneRows, err
}

// hookQueue is the queue of the tasks of webhooks, and hooksAtOnce how many of them a server does at once: each may have a bundle in memory.
const hookQueue, hooksAtOnce = "webhooks", 2

type hooker struct {
	river.WorkerDefaults[webhook.Task]
	s *Server
}

// Work does a task of a webhook. A host that cannot be reached is asked again later, and one that refuses is not: then the status of the
// commit says why. The files of a commit are a stranger's: what is decoded of them counts as the memory of the hook.
func (w *hooker) Work(ctx context.Context, job *river.Job[webhook.Task]) error {
	ctx, end := intake.WithBudget(ctx, w.s.memory, "the hook "+job.Args.Hook)
	defer end()
	again, err := w.s.options.Webhooks.Work(ctx, w.s, job.Args)
	if err == nil && again > 0 {
		return w.s.db.snooze(again)
	}
	if err != nil {
		slog.Warn("a task of a webhook has failed", "hook", job.Args.Hook, "delivery", job.Args.Delivery, "step", job.Args.Step, "error", err)
	}
	var final *webhook.RefusedError
	var refused *refusal
	var host *webhook.APIError
	isFinal := errors.As(err, &final) || errors.As(err, &refused) && refused.after == 0 || errors.As(err, &host) && host.IsFinal()
	if isFinal || err != nil && job.Attempt >= job.MaxAttempts {
		reason := "not followed any more: the server's log says why"
		switch {
		case final != nil:
			reason = "not run: " + final.Reason
		case refused != nil && job.Args.Step == webhook.Received:
			reason = "not run: " + refused.reason
		}
		if err := w.s.options.Webhooks.GiveUp(context.WithoutCancel(ctx), job.Args, reason); err != nil {
			slog.Warn("the status of a commit is not set", "hook", job.Args.Hook, "commit", job.Args.Event.Commit, "error", err)
		}
	}
	if isFinal {
		return river.JobCancel(err)
	}
	return err
}

// makeTimers makes the client of River, which is to be started.
func (s *Server) makeTimers() error {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(ignore[watchArgs]))
	river.AddWorker(workers, river.WorkFunc(ignore[sweepArgs]))
	river.AddWorker(workers, &scheduler{s: s})
	river.AddWorker(workers, &pruner{s: s})
	river.AddWorker(workers, &hooker{s: s})
	const atOnce, poll = 8, 500 * time.Millisecond
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce, FetchPollInterval: poll}}
	if s.options.Webhooks != nil {
		queues[hookQueue] = river.QueueConfig{MaxWorkers: hooksAtOnce, FetchPollInterval: poll}
	}
	var err error
	s.timers, err = river.NewClient[*sql.Tx](timersDriver{s.db.river, s.db.clock}, &river.Config{
		Queues:  queues,
		Workers: workers,
		PeriodicJobs: []*river.PeriodicJob{
			river.NewPeriodicJob(river.PeriodicInterval(time.Hour), func() (river.JobArgs, *river.InsertOpts) { return pruneArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true}),
		},
		RetryPolicy: retries{s.db.clock},
		Logger:      slog.New(quiet{slog.Default().Handler()}),
		// A server that is gone has had its timers for at most this long.
		RescueStuckJobsAfter: 2 * timerTime,
		// This is the timeout of all timers. River compares the one that a worker has with the clock of the machine before it takes a timer
		// from a server that is gone.
		JobTimeout: timerTime,
		Test:       river.TestConfig{Time: timersClock{s.db.clock}}, // nothing else of River sets its clock
	})
	return err
}

// timersDriver has River look by a clock for timers that servers had which are gone. It subtracts from the time of the machine: if that is
// ahead, it would have another server do what one is doing, and a schedule get a second timer for ever.
type timersDriver struct {
	riverdriver.Driver[*sql.Tx]
	*clock
}

// GetExecutor returns an executor by the clock.
func (d timersDriver) GetExecutor() riverdriver.Executor {
	return timersExecutor{d.Driver.GetExecutor(), d.clock}
}

type timersExecutor struct {
	riverdriver.Executor
	*clock
}

// JobGetStuck returns the timers that servers have had for too long.
func (e timersExecutor) JobGetStuck(ctx context.Context, params *riverdriver.JobGetStuckParams) ([]*rivertype.JobRow, error) {
	byClock := *params
	byClock.StuckHorizon = e.Now().Add(time.Until(params.StuckHorizon))
	return e.Executor.JobGetStuck(ctx, &byClock)
}

// snooze has a timer come again after a time. River adds to the time of the machine: if that is ahead, it would come that much later, and if
// it is behind, again and again at once.
func (c *clock) snooze(after time.Duration) error {
	return &rivertype.JobSnoozeError{Duration: time.Until(c.Now().Add(after))}
}

// retries has River try again by the time of the database.
type retries struct{ *clock }

// NextRetry returns the time at which a timer that failed is tried again.
func (r retries) NextRetry(job *rivertype.JobRow) time.Time {
	return r.Now().Add(time.Until((&river.DefaultClientRetryPolicy{}).NextRetry(job)))
}

// quiet is a handler of River's log, without what it says of each job.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && q.Handler.Enabled(ctx, level)
}
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

// clock tells the time of the database. Servers of one database have the same time, whatever their own clocks say, and whenever those are
// set. It is read often, and counted on from there. Only deadlines within a process go by the clock of its machine.
type clock struct{ last atomic.Pointer[reading] }

// reading is the time of the database when this process read it.
type reading struct{ database, here time.Time }

func (c *clock) set(database time.Time) { c.last.Store(&reading{database, time.Now()}) }

// Now returns the time of the database, in UTC.
func (c *clock) Now() time.Time {
	last := c.last.Load()
	return last.database.Add(time.Since(last.here))
}

// timersClock has River go by a clock, also where it would leave the time to the database: a driver that has to insert one takes that of the
// machine.
type timersClock struct{ *clock }

func (t timersClock) NowUTC() time.Time { return t.Now() }

func (t timersClock) NowUTCOrNil() *time.Time {
	now := t.Now()
	return &now
}
