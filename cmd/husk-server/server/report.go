package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

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
	s.setClock(&p, time.Now())
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
		return t.addLines(r, p.Lines)
	})
	if err == nil {
		s.changed.tell(p.ID)
	}
	return err
}

// setClock moves the times of a report to now, if they are those of a machine whose clock was wrong: it has begun at 1970, or
// is ahead. Its report would be removed as an old one, or stay for ever.
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
