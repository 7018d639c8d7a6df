package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// settle records what a worker has made for a run that was taken from it. The run, if it waits for that, goes on then.
func (s *Server) settle(ctx context.Context, c *caller, u runapi.Unrecorded) error {
	if !runapi.IsID(u.Run) {
		return refusef(http.StatusBadRequest, "%.60q is no ID of a run", u.Run)
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
			return nil
		}
		r.State = runapi.Queued
		return t.leave(r, "", nil, 0)
	})
	switch {
	case err != nil:
	case on:
		s.ended(r)
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

// isUnsettled reports whether a run that has lost its worker, or its stack, may have created objects that are not recorded. It
// reports false for a state that the server cannot read: the next worker reads it, and does nothing if a creation is pending, see
// [runapi.Claim.StopOnPending].
func (s *Server) isUnsettled(ctx context.Context, r *record) (bool, error) {
	if s.options.RetryPending || r.Operation != "up" || r.Previewing {
		return false, nil
	}
	t, err := s.tenant(ctx, r.tenant)
	if err != nil {
		return false, err
	}
	held := s.memory.Hold(r.tenant)
	defer held.End()
	const decoded = 8 // times the size of the text, with it
	bounded := intake.WithRoom(ctx, func(bytes int64) error { return held.Add((rowCopies + decoded) * bytes) })
	snapshot, _, err := state.Load(bounded, t.readable(), state.StackName{Project: r.Project, Name: r.Stack}, nil)
	var full *intake.FullError
	if errors.As(err, &full) && !full.Never {
		return false, err
	}
	if err != nil {
		return false, nil
	}
	for _, op := range snapshot.Operations() {
		if op.Type == state.OperationCreating && !strings.HasPrefix(string(op.Resource.Type), "pulumi:providers:") {
			return true, nil
		}
	}
	return false, nil
}
