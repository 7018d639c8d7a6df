package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/robfig/cron/v3"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

const (
	// maxSchedules bounds the schedules of a team.
	maxSchedules = 1000
	// maxCron bounds a line of cron, in bytes.
	maxCron = 200
	// leastInterval is the shortest time between two runs of a schedule, the least that five fields can express.
	leastInterval = time.Minute
)

var schedulePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// parseCron reads a line of cron, whose times are in UTC.
func parseCron(line string, now time.Time) (cron.Schedule, error) {
	const example = `such as "0 4 * * *" for each day at 4:00 UTC`
	if len(line) > maxCron || strings.Contains(line, "=") {
		return nil, refusef(http.StatusBadRequest, "the schedule %.60q is not one of cron in UTC, %s", line, example)
	}
	at, err := cron.ParseStandard(line)
	if err != nil {
		return nil, refusef(http.StatusBadRequest, "the schedule %q is not one of cron, %s: %v", line, example, err)
	}
	if every, ok := at.(cron.ConstantDelaySchedule); ok && every.Delay < leastInterval {
		return nil, refusef(http.StatusBadRequest, "the schedule %q comes more than once in %v: name a longer time", line, leastInterval)
	}
	if at.Next(now).IsZero() {
		return nil, refusef(http.StatusBadRequest, "the schedule %q never comes: no date has this day and this month", line)
	}
	return at, nil
}

// scheduled is a schedule as it is in the database.
type scheduled struct {
	runapi.Schedule
	// by is the token that has set it. It is nil if the schedule has stopped, for the reason of the schedule.
	by *caller
}

// schedulesWhere calls do for each schedule of a condition.
func (t *tx) schedulesWhere(do func(*scheduled) error, condition string, args ...any) error {
	if err := t.room("SELECT COALESCE(SUM(octet_length(s.run) + ?), 0) FROM husk_schedules s WHERE "+condition, append([]any{smallRow}, args...)...); err != nil {
		return err
	}
	now := t.Now()
	return t.rows(func(scan func(...any) error) error {
		one := &scheduled{}
		var run, tenant string
		var next int64
		var hash, person, role, projects sql.NullString
		var expires sql.NullInt64
		if err := scan(&tenant, &one.Name, &one.Cron, &run, &one.By, &next, &one.Last, &one.Reason, &hash, &person, &role, &projects, &expires); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(run), &one.Run); err != nil {
			return err
		}
		one.Next = timeOf(next)
		switch {
		case !hash.Valid:
			one.stop("the token %s, which has set it, was revoked: set it again", one.By)
		case expires.Int64 > 0 && millis(now) > expires.Int64:
			one.stop("the token %s, which has set it, has expired: set it again", one.By)
		default:
			one.by = &caller{tenant: tenant, name: one.By, person: person.String, role: runapi.Role(role.String), hash: hash.String}
			if err := json.Unmarshal([]byte(projects.String), &one.by.projects); err != nil {
				return err
			}
			if err := one.by.require(runapi.Admin, one.Run.Project); err != nil {
				one.stop("%v", err)
			} else if _, err := parseCron(one.Cron, now); err != nil {
				one.stop("%v", err)
			}
		}
		return do(one)
	}, "SELECT s.tenant, s.name, s.cron, s.run, s.requested_by, s.next, s.last, s.reason, k.hash, k.person, k.role, k.projects, k.expires"+
		" FROM husk_schedules s LEFT JOIN husk_tokens k ON k.hash = s.token AND k.tenant = s.tenant WHERE "+condition+" ORDER BY s.name", args...)
}

func (s *scheduled) stop(format string, args ...any) {
	s.by, s.Next, s.Reason = nil, time.Time{}, fmt.Sprintf(format, args...)
}

type scheduler struct {
	river.WorkerDefaults[scheduleArgs]
	s *Server
}

// Work begins a run of a schedule with the rights that the token which has set it has now, and adds the timer of the next. A
// schedule that has stopped has no timer.
func (w *scheduler) Work(ctx context.Context, job *river.Job[scheduleArgs]) error {
	if err := w.s.countSize(ctx, job.Args.Tenant); err != nil {
		return err
	}
	var begun *record
	if err := w.s.db.step(ctx, func(t *tx) error {
		begun = nil
		var one *scheduled
		if err := t.schedulesWhere(func(found *scheduled) error {
			one = found
			return nil
		}, "s.tenant = ? AND s.name = ? AND s.version = ?", job.Args.Tenant, job.Args.Name, job.Args.Version); err != nil {
			return err
		}
		if one == nil || !one.isFor(job.Args) {
			return nil // it was removed, or replaced, or this was done
		}
		if one.by == nil {
			slog.Warn("a schedule has stopped", "tenant", job.Args.Tenant, "schedule", job.Args.Name, "reason", one.Reason)
			return nil
		}
		// A run that is still open is not overtaken.
		open, err := t.runWhere("id = ? AND state IN ('queued', 'running', 'waiting')", one.Last)
		if err != nil {
			return err
		}
		if open == nil && !one.Next.After(t.Now()) {
			one.Run.ID, one.Reason = rand.Text(), ""
			r, err := w.s.scheduled(t, one)
			var refused *refusal
			switch {
			case errors.As(err, &refused):
				slog.Warn("a scheduled run was refused", "tenant", job.Args.Tenant, "schedule", job.Args.Name, "reason", refused.reason)
				one.Reason = refused.reason
			case err != nil:
				return err
			default:
				one.Last = r.ID
				begun = r
			}
		}
		now := t.Now()
		at, err := parseCron(one.Cron, now)
		if err != nil {
			return err
		}
		return w.s.plan(ctx, t, job.Args, at.Next(now), one.Last, one.Reason)
	}); errors.Is(err, errDecided) {
		return nil
	} else if err != nil || begun == nil {
		return err
	}
	w.s.madeWay(ctx, begun)
	return nil
}

// scheduled adds the run of a schedule, if its team has room for it.
func (s *Server) scheduled(t *tx, one *scheduled) (*record, error) {
	text, err := json.Marshal(one.Run)
	if err == nil {
		err = s.takeRequest(one.by.tenant, len(text))
	}
	if err != nil {
		return nil, err
	}
	return s.queue(t, one.by, one.Run)
}

// isFor reports whether a timer is for the next time of the schedule.
func (s *scheduled) isFor(args scheduleArgs) bool {
	return args.At == 0 || s.by == nil || args.At == millis(s.Next)
}

// plan adds the timer of a schedule. reason is why its last time has begun no run, if so. The error is [errDecided] if another server has done
// what the timer before was for.
func (s *Server) plan(ctx context.Context, t *tx, args scheduleArgs, next time.Time, last, reason string) error {
	n, err := t.exec("UPDATE husk_schedules SET next = ?, last = ?, reason = ? WHERE tenant = ? AND name = ? AND version = ? AND CAST(? AS bigint) IN (0, next)",
		millis(next), last, reason, args.Tenant, args.Name, args.Version, args.At)
	if err == nil && n == 0 {
		err = errDecided
	}
	if err != nil {
		return err
	}
	args.At = millis(next)
	_, err = s.timers.InsertTx(ctx, t.begun, args, &river.InsertOpts{ScheduledAt: next})
	return err
}

// setSchedule makes or replaces a schedule.
func (s *Server) setSchedule(ctx context.Context, c *caller, schedule runapi.Schedule) (*runapi.Schedule, error) {
	now := s.db.Now()
	at, err := parseCron(schedule.Cron, now)
	if err != nil {
		return nil, err
	}
	schedule.Run.ID = ""
	if err := checkNewRun(&schedule.Run); err != nil {
		return nil, err
	}
	if err := c.require(runapi.Admin, schedule.Run.Project); err != nil {
		return nil, err
	}
	text, err := json.Marshal(schedule.Run)
	if err == nil {
		err = s.roomForRequest(ctx, c.tenant, len(text))
	}
	if err != nil {
		return nil, err
	}
	args := scheduleArgs{Tenant: c.tenant, Name: schedule.Name, Version: rand.Text()}
	schedule.By, schedule.Next, schedule.Last, schedule.Reason = c.name, at.Next(now), "", ""
	err = s.db.step(ctx, func(t *tx) error {
		if err := t.hasBundle(c.tenant, schedule.Run.Bundle); err != nil {
			return err
		}
		if _, err := t.dropSchedule(c, args.Name); err != nil {
			return err
		}
		var n int
		if err := t.row("SELECT count(*) FROM husk_schedules WHERE tenant = ?", c.tenant).Scan(&n); err != nil {
			return err
		}
		if n >= maxSchedules {
			return refusef(http.StatusConflict, "%s has %d schedules already: remove one first", c.tenant, n)
		}
		_, err := t.exec("INSERT INTO husk_schedules (tenant, name, cron, run, bundle, requested_by, token, version, next, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '')",
			args.Tenant, args.Name, schedule.Cron, string(text), schedule.Run.Bundle, c.name, c.hash, args.Version)
		if err != nil {
			return err
		}
		if err := t.audit(c, "schedule.set", args.Name, "%q: %s of %s/%s", schedule.Cron, schedule.Run.Operation, schedule.Run.Project, schedule.Run.Stack); err != nil {
			return err
		}
		return s.plan(ctx, t, args, schedule.Next, "", "")
	})
	return &schedule, err
}

// schedules returns the schedules of a caller's projects, or the one of a name.
func (s *Server) schedules(ctx context.Context, c *caller, name string) (all []runapi.Schedule, err error) {
	all = []runapi.Schedule{}
	condition, args := "s.tenant = ?", []any{c.tenant}
	if name != "" {
		condition, args = condition+" AND s.name = ?", append(args, name)
	}
	err = s.db.step(ctx, func(t *tx) error {
		return t.schedulesWhere(func(one *scheduled) error {
			if c.uses(one.Run.Project) {
				all = append(all, one.Schedule)
			}
			return nil
		}, condition, args...)
	})
	return all, err
}

// schedule returns one of a caller's projects.
func (s *Server) schedule(ctx context.Context, c *caller, name string) (*runapi.Schedule, error) {
	all, err := s.schedules(ctx, c, name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, refusef(http.StatusNotFound, "there is no schedule %q: husk remote schedule ls lists them", name)
	}
	return &all[0], nil
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
		if err != nil {
			return err
		}
		return t.audit(c, "schedule.remove", name, "")
	})
}

// dropSchedule removes a schedule of a project that the caller may use, if there is one.
func (t *tx) dropSchedule(c *caller, name string) (was bool, err error) {
	err = t.schedulesWhere(func(one *scheduled) error {
		was = true
		if !c.uses(one.Run.Project) {
			return refusef(http.StatusForbidden, "the schedule %q belongs to a project that the token %s does not cover", name, c.name)
		}
		return nil
	}, "s.tenant = ? AND s.name = ?", c.tenant, name)
	if was && err == nil {
		_, err = t.exec("DELETE FROM husk_schedules WHERE tenant = ? AND name = ?", c.tenant, name)
	}
	return was, err
}
