package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
)

// River has the timers of the server: jobs that are added in the transaction of what they are about, and that one of the
// servers of a database does when their time has come.

// watchArgs watch a run that a worker has, until the worker ends it or is lost.
type watchArgs struct {
	Tenant  string `json:"tenant"`
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
}

func (watchArgs) Kind() string { return "husk_watch" }

// scheduleArgs begin the runs of a schedule.
type scheduleArgs struct {
	Tenant  string `json:"tenant"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (scheduleArgs) Kind() string { return "husk_schedule" }

// sweepArgs look for runs whose watch was lost.
type sweepArgs struct{}

func (sweepArgs) Kind() string { return "husk_sweep" }

// pruneArgs remove what is old.
type pruneArgs struct{}

func (pruneArgs) Kind() string { return "husk_prune" }

const timerTime = time.Minute

type watcher struct {
	river.WorkerDefaults[watchArgs]
	s *Server
}

func (w *watcher) Timeout(*river.Job[watchArgs]) time.Duration { return timerTime }

func (w *watcher) Work(ctx context.Context, job *river.Job[watchArgs]) error {
	_, left, err := w.s.lose(ctx, job.Args.Tenant, job.Args.Run, job.Args.Attempt)
	if err == nil && left > 0 {
		return river.JobSnooze(left)
	}
	var gone *refusal
	if errors.As(err, &gone) {
		return nil // the run was removed
	}
	return err
}

// watch adds the timer of a run that a worker takes.
func (s *Server) watch(ctx context.Context, t *tx, r *record) error {
	_, err := s.timers.InsertTx(ctx, t.Tx, watchArgs{r.tenant, r.ID, r.Attempt}, &river.InsertOpts{ScheduledAt: time.Now().Add(s.options.Lease)})
	return err
}

type sweeper struct {
	river.WorkerDefaults[sweepArgs]
	s *Server
}

func (w *sweeper) Timeout(*river.Job[sweepArgs]) time.Duration { return timerTime }

func (w *sweeper) Work(ctx context.Context, _ *river.Job[sweepArgs]) error { return w.s.sweep(ctx) }

// sweep takes runs from workers that were lost long ago: River gives a job up that has failed too often, such as while the
// database could not be reached.
func (s *Server) sweep(ctx context.Context) error {
	const most = 100 // at once
	var lost []watchArgs
	err := s.db.step(ctx, func(t *tx) error {
		lost = nil
		return t.rows(func(scan func(...any) error) error {
			var one watchArgs
			err := scan(&one.Tenant, &one.Run, &one.Attempt)
			lost = append(lost, one)
			return err
		}, "SELECT tenant, id, attempt FROM husk_runs WHERE state = 'running' AND lease < "+t.now()+" - ? ORDER BY lease LIMIT ?", s.options.Lease.Milliseconds(), most)
	})
	for _, run := range lost {
		_, _, one := s.lose(ctx, run.Tenant, run.Run, run.Attempt)
		err = errors.Join(err, one)
	}
	return err
}

type pruner struct {
	river.WorkerDefaults[pruneArgs]
	s *Server
}

func (w *pruner) Timeout(*river.Job[pruneArgs]) time.Duration { return timerTime }

// Work removes runs that ended long ago, their logs, bundles that no open run nor schedule needs, and workers that are gone.
func (w *pruner) Work(ctx context.Context, _ *river.Job[pruneArgs]) error {
	return w.s.prune(ctx, time.Now())
}

func (s *Server) prune(ctx context.Context, now time.Time) error {
	const gone = 24 * time.Hour
	return s.db.step(ctx, func(t *tx) error {
		old, day := millis(now.Add(-s.options.Keep)), millis(now.Add(-gone))
		for _, statement := range []struct {
			text string
			args []any
		}{
			{"DELETE FROM husk_lines WHERE run IN (SELECT id FROM husk_runs WHERE ended > 0 AND ended < ?)", []any{old}},
			{"DELETE FROM husk_runs WHERE ended > 0 AND ended < ?", []any{old}},
			{"DELETE FROM husk_bundles WHERE made < ? AND NOT EXISTS (SELECT 1 FROM husk_runs r WHERE r.tenant = husk_bundles.tenant AND r.state IN ('queued', 'running', 'waiting') AND r.bundle = husk_bundles.digest)" +
				" AND NOT EXISTS (SELECT 1 FROM husk_schedules s WHERE s.tenant = husk_bundles.tenant AND s.bundle = husk_bundles.digest)", []any{day}},
			{"DELETE FROM husk_workers WHERE seen < ?", []any{day}},
		} {
			if _, err := t.exec(statement.text, statement.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// startTimers starts River.
func (s *Server) startTimers(ctx context.Context) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &watcher{s: s})
	river.AddWorker(workers, &scheduler{s: s})
	river.AddWorker(workers, &pruner{s: s})
	river.AddWorker(workers, &sweeper{s: s})
	const atOnce, poll = 8, 500 * time.Millisecond
	var err error
	s.timers, err = river.NewClient(s.db.river, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce, FetchPollInterval: poll}},
		Workers: workers,
		PeriodicJobs: []*river.PeriodicJob{
			river.NewPeriodicJob(river.PeriodicInterval(time.Hour), func() (river.JobArgs, *river.InsertOpts) { return pruneArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true}),
			river.NewPeriodicJob(river.PeriodicInterval(2*s.options.Lease), func() (river.JobArgs, *river.InsertOpts) { return sweepArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true}),
		},
		Logger: slog.New(quiet{slog.Default().Handler()}),
		// A server that is gone has had its timers for at most this long.
		RescueStuckJobsAfter: 2 * timerTime,
		JobTimeout:           timerTime,
	})
	if err != nil {
		return err
	}
	return s.timers.Start(context.WithoutCancel(ctx))
}

// quiet is a handler of River's log, without what it says of each job.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && q.Handler.Enabled(ctx, level)
}
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
