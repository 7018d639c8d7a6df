package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/runapi"
)

// seen notes that a worker asks for runs.
func (s *Server) seen(ctx context.Context, c *caller, ask runapi.Ask) error {
	labels, err := json.Marshal(ask.Labels)
	if err != nil {
		return err
	}
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO husk_workers (tenant, name, labels, slots, running, seen) VALUES (?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (tenant, name) DO UPDATE SET labels = excluded.labels, slots = excluded.slots, running = excluded.running, seen = excluded.seen",
			c.tenant, ask.Worker, string(labels), ask.Slots, ask.Running, time.Now().UnixMilli())
		return err
	})
}

// oneOf returns a condition for a column, and its arguments: the values of queued runs for which is holds. There is none if
// no value is left.
func (t *tx) oneOf(column string, is func(string) bool) (condition string, args []any, err error) {
	err = t.rows(func(scan func(...any) error) error {
		var value string
		if err := scan(&value); err != nil {
			return err
		}
		if is(value) {
			args = append(args, value)
		}
		return nil
	}, "SELECT DISTINCT "+column+" FROM husk_runs WHERE state = 'queued'")
	if err != nil || len(args) == 0 {
		return "", nil, err
	}
	return " AND " + column + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args, nil
}

// claim gives a worker the oldest run that it can take, whose stack has no other run and no older one that waits. It is
// nil if there is none.
func (s *Server) claim(ctx context.Context, c *caller, ask runapi.Ask) (claim *runapi.Claim, err error) {
	first := false // of its workers
	var r *record
	err = s.db.step(ctx, func(t *tx) error {
		claim = nil
		now := time.Now()
		condition, args, err := t.oneOf("selector", func(selector string) bool { return selects(selector, ask.Labels) })
		if err != nil || condition == "" {
			return err
		}
		if len(c.projects) > 0 {
			more, projects, err := t.oneOf("project", c.uses)
			if err != nil || more == "" {
				return err
			}
			condition, args = condition+more, append(args, projects...)
		}
		if c.tenant != everyTenant {
			condition, args = condition+" AND tenant = ?", append(args, c.tenant)
		}
		r, err = t.runWhere("state = 'queued' AND not_before <= ?"+condition+" AND NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.tenant = husk_runs.tenant AND o.project = husk_runs.project"+
			" AND o.stack = husk_runs.stack AND (o.state = 'running' OR o.state IN ('queued', 'waiting') AND o.number < husk_runs.number))"+
			" ORDER BY number LIMIT 1"+t.locked(), append([]any{now.UnixMilli()}, args...)...)
		if r == nil || err != nil {
			return err
		}
		secret := newSecret()
		r.State, r.Worker, r.token, r.lease = runapi.Running, ask.Worker, hashOf(secret), now.Add(s.options.Lease)
		r.Attempt++
		began := r.Began
		if first = began.IsZero(); first {
			began = now
		}
		n, err := t.exec("UPDATE husk_runs SET state = 'running', worker = ?, attempt = ?, token = ?, worker_token = ?, lease = ?, began = ? WHERE id = ? AND state = 'queued'",
			r.Worker, r.Attempt, r.token, c.hash, millis(r.lease), millis(began), r.ID)
		if err != nil || n == 0 {
			return err
		}
		r.Began = began
		if err := s.hold(t, r); err != nil {
			return err
		}
		if err := s.watch(ctx, t, r); err != nil {
			return err
		}
		claim = &runapi.Claim{Run: r.Run, Token: secret, Next: r.lines + 1, BeatSeconds: (s.options.Lease / 3).Seconds()}
		return t.row("SELECT plan FROM husk_runs WHERE id = ?", r.ID).Scan(&claim.Plan)
	})
	if conflict(err) {
		return nil, nil // another worker was first with a run of the same stack
	}
	if err != nil || claim == nil {
		return nil, err
	}
	if first {
		s.counts.wait(claim.Began.Sub(claim.Made))
		s.traceWait(&claim.Run)
	}
	s.changed.ring(claim.ID)
	return claim, s.remember(ctx, r)
}

// hold has a run begin with the preview that is to be approved, if the server wants that: it may have been queued, or taken
// by a worker that was lost, before the server was started with that option.
func (s *Server) hold(t *tx, r *record) error {
	if !s.options.RequireApproval || r.Approval || !changesSomething(&r.NewRun) {
		return nil
	}
	r.Approval, r.Previewing = true, true
	request, err := json.Marshal(r.NewRun)
	if err != nil {
		return err
	}
	if _, err := t.exec("UPDATE husk_runs SET request = ?, previewing = 1 WHERE id = ?", string(request), r.ID); err != nil {
		return err
	}
	return t.say(r, "The server has been started with --require-approval since this was asked for: it is previewed first.")
}

// remember notes where the state is that the preview of a destruction or a refresh is about to read: the approved run must
// find it there. The plan of an update says itself what may change.
func (s *Server) remember(ctx context.Context, r *record) error {
	if !r.Previewing || r.Operation == "up" {
		return nil
	}
	at, err := s.position(ctx, r)
	if err != nil {
		slog.Warn("the state of a stack could not be read before a preview, which cannot be approved then", "run", r.ID, "error", err)
		at = unknownBase
	}
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE husk_runs SET base = ? WHERE id = ? AND attempt = ?", at, r.ID, r.Attempt)
		return err
	})
}

// position returns how many steps the state of a run's stack has had, or noBase if this server does not keep it.
func (s *Server) position(ctx context.Context, r *record) (int64, error) {
	t, err := s.tenant(ctx, r.tenant)
	if err != nil {
		return 0, err
	}
	c, err := t.backend.State.Load(ctx, state.StackName{Project: r.Project, Name: r.Stack})
	if errors.Is(err, state.ErrStackNotFound) {
		return noBase, nil
	}
	if err != nil {
		return 0, err
	}
	return int64(c.Sequence) + int64(len(c.Records)), nil
}

// leased returns an error if a run that was approved has got the lease of a stack which is not as the preview saw it. Once
// it is, the run changes it itself, and may go on where another worker ended.
func (s *Server) leased(ctx context.Context, r *record) error {
	if r.base == noBase || r.Previewing {
		return nil
	}
	at, err := s.position(ctx, r)
	if err != nil {
		return err
	}
	if at != r.base {
		return fmt.Errorf("the stack %s was changed after the preview that %s has approved: ask for the run %s again", r.Stack, r.ApprovedBy, r.Operation)
	}
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE husk_runs SET base = ? WHERE id = ?", noBase, r.ID)
		return err
	})
}
