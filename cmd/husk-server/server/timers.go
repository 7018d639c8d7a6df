package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/robfig/cron/v3"

	"github.com/husk-dev/husk/internal/runapi"
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
	_, again, err := w.s.lose(ctx, job.Args.Tenant, job.Args.Run, job.Args.Attempt)
	if left := time.Until(again); err == nil && left > 0 {
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
	_, err := s.timers.InsertTx(ctx, t.Tx, watchArgs{r.tenant, r.ID, r.Attempt}, &river.InsertOpts{ScheduledAt: r.lease})
	return err
}

type scheduler struct {
	river.WorkerDefaults[scheduleArgs]
	s *Server
}

func (w *scheduler) Timeout(*river.Job[scheduleArgs]) time.Duration { return timerTime }

// Work begins a run of a schedule, and adds the timer of the next.
func (w *scheduler) Work(ctx context.Context, job *river.Job[scheduleArgs]) error {
	var made *record
	err := w.s.db.step(ctx, func(t *tx) error {
		made = nil
		var line, text, by, person, projects, last string
		var next int64
		err := t.row("SELECT cron, run, requested_by, requested_person, requested_projects, next, last FROM husk_schedules WHERE tenant = ? AND name = ? AND version = ?",
			job.Args.Tenant, job.Args.Name, job.Args.Version).Scan(&line, &text, &by, &person, &projects, &next, &last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it was removed, or replaced
		}
		if err != nil {
			return err
		}
		c := &caller{tenant: job.Args.Tenant, name: by, person: person}
		var n runapi.NewRun
		if err := errors.Join(json.Unmarshal([]byte(text), &n), json.Unmarshal([]byte(projects), &c.projects)); err != nil {
			return err
		}
		// One that is still open is not overtaken.
		open, err := t.runWhere("id = ? AND state IN ('queued', 'running', 'waiting')", last)
		if err != nil {
			return err
		}
		if due := timeOf(next); open == nil && !due.After(time.Now()) {
			n.ID = rand.Text()
			r, err := w.s.queue(t, c, n)
			var refused *refusal
			switch {
			case errors.As(err, &refused):
				slog.Warn("a scheduled run was refused", "tenant", c.tenant, "schedule", job.Args.Name, "reason", refused.reason)
			case err != nil:
				return err
			default:
				made, last = r, r.ID
			}
		}
		at, err := cron.ParseStandard(line)
		if err != nil {
			return err
		}
		return w.s.plan(ctx, t, job.Args, at.Next(time.Now().UTC()), last)
	})
	if err == nil && made != nil {
		w.s.queued.ring(wantedOf(made))
	}
	return err
}

// plan adds the timer of a schedule.
func (s *Server) plan(ctx context.Context, t *tx, args scheduleArgs, next time.Time, last string) error {
	_, err := t.exec("UPDATE husk_schedules SET next = ?, last = ? WHERE tenant = ? AND name = ? AND version = ?", millis(next), last, args.Tenant, args.Name, args.Version)
	if err != nil {
		return err
	}
	_, err = s.timers.InsertTx(ctx, t.Tx, args, &river.InsertOpts{ScheduledAt: next})
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
	var lost []*record
	err := s.db.step(ctx, func(t *tx) error {
		lost = nil
		return t.rows(func(scan func(...any) error) error {
			r, err := scanRun(scan)
			if err == nil {
				lost = append(lost, r)
			}
			return err
		}, "SELECT "+columns+" FROM husk_runs WHERE state = 'running' AND lease < ? ORDER BY lease LIMIT ?", time.Now().Add(-s.options.Lease).UnixMilli(), most)
	})
	for _, r := range lost {
		_, _, one := s.lose(ctx, r.tenant, r.ID, r.Attempt)
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
			{"DELETE FROM husk_bundles WHERE made < ? AND NOT EXISTS (SELECT 1 FROM husk_runs r WHERE r.tenant = husk_bundles.tenant AND r.state IN ('queued', 'running', 'waiting') AND r.request LIKE '%' || husk_bundles.digest || '%')" +
				" AND NOT EXISTS (SELECT 1 FROM husk_schedules s WHERE s.tenant = husk_bundles.tenant AND s.run LIKE '%' || husk_bundles.digest || '%')", []any{day}},
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

var schedulePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// setSchedule makes or replaces a schedule.
func (s *Server) setSchedule(ctx context.Context, c *caller, schedule runapi.Schedule) (*runapi.Schedule, error) {
	at, err := cron.ParseStandard(schedule.Cron)
	if err != nil {
		return nil, refusef(http.StatusBadRequest, "the schedule %q is not one of cron, such as \"0 4 * * *\" for each day at 4:00 UTC: %v", schedule.Cron, err)
	}
	schedule.Run.ID = ""
	if err := checkNewRun(&schedule.Run); err != nil {
		return nil, err
	}
	if err := c.require(runapi.Admin, schedule.Run.Project); err != nil {
		return nil, err
	}
	text, err := json.Marshal(schedule.Run)
	if err != nil {
		return nil, err
	}
	projects, err := json.Marshal(append([]string{}, c.projects...))
	if err != nil {
		return nil, err
	}
	args := scheduleArgs{c.tenant, schedule.Name, rand.Text()}
	schedule.By, schedule.Next, schedule.Last = c.name, at.Next(time.Now().UTC()), ""
	err = s.db.step(ctx, func(t *tx) error {
		if _, err := t.dropSchedule(c, args.Name); err != nil {
			return err
		}
		_, err := t.exec("INSERT INTO husk_schedules (tenant, name, cron, run, requested_by, requested_person, requested_projects, version, next, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '')",
			args.Tenant, args.Name, schedule.Cron, string(text), c.name, c.person, string(projects), args.Version)
		if err != nil {
			return err
		}
		return s.plan(ctx, t, args, schedule.Next, "")
	})
	return &schedule, err
}

// schedules returns those of a caller's projects.
func (s *Server) schedules(ctx context.Context, c *caller) (all []runapi.Schedule, err error) {
	all = []runapi.Schedule{}
	err = s.db.step(ctx, func(t *tx) error {
		return t.rows(func(scan func(...any) error) error {
			var one runapi.Schedule
			var text string
			var next int64
			if err := scan(&one.Name, &one.Cron, &text, &one.By, &next, &one.Last); err != nil {
				return err
			}
			one.Next = timeOf(next)
			if err := json.Unmarshal([]byte(text), &one.Run); err != nil {
				return err
			}
			if c.uses(one.Run.Project) {
				all = append(all, one)
			}
			return nil
		}, "SELECT name, cron, run, requested_by, next, last FROM husk_schedules WHERE tenant = ? ORDER BY name", c.tenant)
	})
	return all, err
}

// schedule returns one of a caller's projects.
func (s *Server) schedule(ctx context.Context, c *caller, name string) (*runapi.Schedule, error) {
	all, err := s.schedules(ctx, c)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(one runapi.Schedule) bool { return one.Name == name })
	if at < 0 {
		return nil, refusef(http.StatusNotFound, "there is no schedule %q: husk remote schedule ls lists them", name)
	}
	return &all[at], nil
}

// removeSchedule removes a schedule. A run of it that has begun goes on.
func (s *Server) removeSchedule(ctx context.Context, c *caller, name string) error {
	if err := c.require(runapi.Admin, ""); err != nil {
		return err
	}
	return s.db.step(ctx, func(t *tx) error {
		was, err := t.dropSchedule(c, name)
		if err == nil && !was {
			err = refusef(http.StatusNotFound, "there is no schedule %q", name)
		}
		return err
	})
}

// dropSchedule removes a schedule of a project that the caller may use, if there is one.
func (t *tx) dropSchedule(c *caller, name string) (was bool, err error) {
	var text string
	switch err := t.row("SELECT run FROM husk_schedules WHERE tenant = ? AND name = ?", c.tenant, name).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	}
	var n runapi.NewRun
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return false, err
	}
	if !c.uses(n.Project) {
		return false, refusef(http.StatusForbidden, "the schedule %q is of a project that the token %s is not for", name, c.name)
	}
	_, err = t.exec("DELETE FROM husk_schedules WHERE tenant = ? AND name = ?", c.tenant, name)
	return true, err
}
