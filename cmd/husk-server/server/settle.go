package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// settle records what a worker has made for a run that was taken from it. The run, if it waits for that, goes on then.
func (s *Server) settle(ctx context.Context, c *caller, u runapi.Unrecorded) error {
	if !runapi.IsID(u.Run) {
		return refusef(http.StatusBadRequest, "%.60q is not the ID of a run", u.Run)
	}
	if len(u.Records) > remote.MaxUnrecorded {
		return refusef(http.StatusBadRequest, "a run has left at most %d records", remote.MaxUnrecorded)
	}
	var r *record
	err := s.db.step(ctx, func(t *tx) (err error) {
		tenant := c.tenant
		if tenant == everyTenant {
			if err := t.row("SELECT tenant FROM husk_runs WHERE id = ?", u.Run).Scan(&tenant); err != nil {
				return t.noRun(u.Run)
			}
		}
		if r, err = t.run(tenant, u.Run); err == nil && !c.uses(r.Project) {
			err = t.noRun(u.Run)
		}
		return err
	})
	if err != nil {
		return err
	}
	hash := hashOf(u.Token)
	switch {
	case r.State == runapi.Running:
		return tryLaterf(http.StatusServiceUnavailable, "the run %s is at a worker, which has not found yet what is missing", r.ID)
	case r.lost != hash || r.Previewing || !r.Changes():
		return refusef(http.StatusGone, "the run %s needs nothing of this worker any more", r.ID)
	}
	if err := s.append(ctx, r, u); err != nil {
		return err
	}
	on := false
	err = s.db.step(ctx, func(t *tx) error {
		if err := t.lockStack(r); err != nil {
			return err
		}
		if r, err = t.run(r.tenant, r.ID); err != nil {
			return err
		}
		if err := t.say(r, "A worker that was lost has handed in what it has made."); err != nil {
			return err
		}
		if on = r.State == runapi.Attention && r.lost == hash; !on {
			return t.keep(r)
		}
		r.State = runapi.Queued
		return t.leave(r, "", nil, 0)
	})
	switch {
	case err != nil:
	case on:
		s.ended(ctx, r)
	default:
		s.changed.tell(r.ID)
	}
	return err
}

// append adds records to the journal of a run's stack, if nobody has taken the lease of that since. Records that it has already are
// not added again.
func (s *Server) append(ctx context.Context, r *record, u runapi.Unrecorded) error {
	t, err := s.tenant(ctx, r.tenant)
	if err != nil {
		return err
	}
	stack := state.StackName{Project: r.Project, Name: r.Stack}
	store, ok := t.backend.State.(backend.Resumer)
	if !ok || len(u.Records) == 0 {
		return refusef(http.StatusBadRequest, "there is no record of the stack %s in it", stack)
	}
	var records [][]byte
	for i, one := range u.Records {
		if one.Sequence != u.Records[0].Sequence+uint64(i) {
			return refusef(http.StatusBadRequest, "record %d does not follow on the one before it", one.Sequence)
		}
		records = append(records, one.Record)
	}
	err = store.Continue(ctx, stack, u.Lease, u.Records[0].Sequence, records)
	switch {
	case errors.Is(err, state.ErrStackNotFound):
		return refusef(http.StatusGone, "there is no stack %s any more", stack)
	case errors.Is(err, state.ErrFenced), errors.Is(err, state.ErrSequence):
		return refusef(http.StatusConflict, "the stack %s was changed since the run %s was taken from its worker: what it has made is not recorded", stack, r.ID)
	}
	return err
}

// unsettled returns the URNs of the resources for which a run that has lost its worker, or its stack, may have created objects that are not
// recorded. It returns none for a state that the server cannot read: the next worker reads it, and does nothing if a creation is pending, see
// [runapi.Claim.StopOnPending].
func (s *Server) unsettled(ctx context.Context, r *record) (urns []string, err error) {
	if s.options.RetryPending || r.Operation != "up" || r.Previewing {
		return nil, nil
	}
	t, err := s.tenant(ctx, r.tenant)
	if err != nil {
		return nil, err
	}
	held := s.memory.Hold(r.tenant)
	defer held.End()
	snapshot, err := backend.Snapshot(ctx, t.readable(), state.StackName{Project: r.Project, Name: r.Stack}, rowCopies, held.Add)
	var full *intake.FullError
	if errors.As(err, &full) && !full.Never {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	for _, op := range snapshot.Operations() {
		if op.Type == state.OperationCreating && !strings.HasPrefix(string(op.Resource.Type), "pulumi:providers:") {
			urns = append(urns, string(op.Resource.URN))
		}
	}
	return urns, nil
}

// report records a run that a worker made on its own.
func (s *Server) report(ctx context.Context, c *caller, p runapi.Report) error {
	if c.tenant == everyTenant {
		return refusef(http.StatusForbidden, "a worker of all tenants makes no runs on its own")
	}
	if err := checkNewRun(&p.NewRun); err != nil {
		return err
	}
	if err := s.requireWorker(c, p.Project); err != nil {
		return err
	}
	if !runapi.IsID(p.ID) || p.Of != "" && !runapi.IsID(p.Of) || !p.State.IsFinal() || !labelPattern.MatchString(p.Worker) {
		return refusef(http.StatusBadRequest, "the report is none of a run of this worker that has ended")
	}
	s.setClock(&p, s.db.Now())
	err := s.db.step(ctx, func(t *tx) error {
		var known, of *record
		var err error
		if known, err = t.known(c, p.ID); err == nil && p.Of != "" {
			of, err = t.known(c, p.Of)
		}
		var others *refusal
		if errors.As(err, &others) || known != nil && known.Worker != p.Worker {
			// No status that edge workers send it again after.
			return &refusal{status: http.StatusBadRequest, reason: "the ID of the run is in use", hides: true}
		}
		if known != nil || err != nil {
			return err // it was reported before
		}
		if of != nil && of.Project == p.Project && of.Stack == p.Stack && of.Worker == p.Worker && of.Attempt == p.Attempt && (of.State == p.State || of.State == runapi.Cancelled && of.cancel > 0) {
			return nil // its end was recorded, and the answer to that was lost
		}
		request, err := json.Marshal(p.NewRun)
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_projects,"+
			" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
			" VALUES (?, ?, ?, ?, ?, ?, '', ?, 0, ?, '[]', '', ?, 1, '', 0, 0, 0, 0, ?, ?, ?, ?)",
			p.ID, c.tenant, p.Project, p.Stack, string(request), p.Bundle, string(p.State), c.name, p.Worker, storable(plain(p.Reason), runapi.MaxMessage), millis(p.Made), millis(p.Began), millis(p.Ended))
		if err != nil {
			return err
		}
		r, err := t.run(c.tenant, p.ID)
		if err != nil {
			return err
		}
		lines, err := r.newLines(p.Lines)
		if err == nil {
			err = t.addLines(r, lines)
		}
		if err != nil {
			return err
		}
		if err := t.logged(r); err != nil {
			return err
		}
		return t.keep(r)
	})
	if err == nil {
		s.changed.tell(p.ID)
	}
	return err
}

// setClock moves the times of a report to now, if they come from a machine with a wrong clock: it has begun at 1970, or is ahead.
// Its report would be removed as an old one, or stay for ever.
func (s *Server) setClock(p *runapi.Report, now time.Time) {
	const ahead = time.Minute
	if p.Ended.After(now.Add(-s.options.Keep)) && !p.Ended.After(now.Add(ahead)) && !p.Began.After(p.Ended) && !p.Made.After(p.Began) && !p.Made.IsZero() && p.Made.UnixMilli() > 0 {
		return
	}
	by := now.Sub(p.Ended)
	for i := range p.Lines {
		p.Lines[i].Time = p.Lines[i].Time.Add(by)
	}
	took := p.Ended.Sub(p.Began)
	if took < 0 || took > s.options.Keep {
		took = 0 // the clock was set meanwhile
	}
	p.Ended, p.Began, p.Made = now, now.Add(-took), now.Add(-took)
}
