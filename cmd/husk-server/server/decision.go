package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

// mostCancel is how often a run can be cancelled: it is to end, and then its steps are stopped.
const mostCancel = 2

// cancelRun asks for the end of a run: at once if it waits, else from its worker. A call that has an ID does so once, however often it
// is sent: else an answer that was lost had steps stopped that were to end.
func (s *Server) cancelRun(ctx context.Context, c *caller, id, call string) (*runapi.Run, error) {
	if call != "" && !runapi.IsID(call) {
		return nil, refusef(http.StatusBadRequest, "%.60q is not the ID of a call, which has 26 upper-case letters and digits", call)
	}
	return s.decide(ctx, c, id, "cancel", func(t *tx, r *record) error {
		if err := c.require(roleFor(r.Operation), r.Project); err != nil {
			return err
		}
		if call != "" && r.cancelCall == call || r.cancel == mostCancel && r.State == runapi.Running {
			return errDecided
		}
		if r.State.IsFinal() {
			return refusef(http.StatusConflict, "the run %s has %s already", id, r.State)
		}
		if _, err := t.exec("UPDATE husk_runs SET cancel_call = ? WHERE id = ?", call, id); err != nil {
			return err
		}
		return t.cancel(c, r, r.cancel+1)
	})
}

// cancel ends a run that waits, or asks the worker of a running one to end it. times is how often the run is cancelled by then.
func (t *tx) cancel(c *caller, r *record, times int) error {
	if err := t.say(r, "Cancelled by %s.", c); err != nil {
		return err
	}
	if r.State != runapi.Running {
		r.State = runapi.Cancelled
		return t.leave(r, "", nil, 0)
	}
	r.cancel = times
	_, err := t.exec("UPDATE husk_runs SET cancel = ? WHERE id = ?", r.cancel, r.ID)
	return err
}

// approve approves or rejects a run that waits for that.
func (s *Server) approve(ctx context.Context, c *caller, id string, yes bool) (*runapi.Run, error) {
	action := "approve"
	if !yes {
		action = "reject"
	}
	return s.decide(ctx, c, id, action, func(t *tx, r *record) error {
		if err := c.require(runapi.Approve, r.Project); err != nil {
			return err
		}
		switch {
		case r.State != runapi.Waiting:
			return refusef(http.StatusConflict, "the run %s is %s, and waits for no approval", id, r.State)
		case yes && (r.By == c.name || identity.SamePerson(r.Person, c.person)):
			return refusef(http.StatusForbidden, "%s asked for the run %s, which somebody else is to approve%s", r.By, id, samePerson(r, c))
		case !yes:
			r.State = runapi.Rejected
			if err := t.say(r, "Rejected by %s.", c); err != nil {
				return err
			}
			return t.leave(r, "", nil, 0)
		}
		key, shower := identity.PersonKey(c.person), ""
		if err := t.row("SELECT shower FROM husk_runs WHERE id = ?", id).Scan(&shower); err != nil {
			return err
		}
		if shower == key {
			return refusef(http.StatusForbidden, "a worker of %s made the preview of the run %s, which somebody else is to approve", c.person, id)
		}
		if err := t.say(r, "Approved by %s.", c); err != nil {
			return err
		}
		lost := r.lost
		if r.Previewing {
			lost = "" // a preview leaves nothing
		}
		r.State, r.Previewing, r.ApprovedBy, r.Reason = runapi.Queued, false, c.person, "" // whatever token it was
		if _, err := t.exec("UPDATE husk_runs SET state = 'queued', previewing = 0, approved_by = ?, approver = ?, approved_with = ?, attempt = 0, tries = 0, lost = ?, reason = '' WHERE id = ?",
			c.person, key, c.hash, lost, id); err != nil {
			return err
		}
		return t.readyNext(r)
	})
}

// retry has a run go on that needs attention: again only if what an earlier worker has begun is settled, or with pending also if it
// is not, and may be created twice.
func (s *Server) retry(ctx context.Context, c *caller, id string, pending bool) (*runapi.Run, error) {
	action := "retry"
	if pending {
		action = "retry-pending"
	}
	if err := s.roomForRequest(ctx, c.tenant, 0); err != nil {
		return nil, err
	}
	return s.decide(ctx, c, id, action, func(t *tx, r *record) error {
		if err := c.require(runapi.Request, r.Project); err != nil {
			return err
		}
		if r.State != runapi.Attention {
			return refusef(http.StatusConflict, "the run %s is %s, and needs no attention", id, r.State)
		}
		text := "Tried again by %s."
		if pending {
			text, r.lost = "Tried again by %s, whatever an earlier worker may have created.", ""
		}
		if err := t.say(r, text, c); err != nil {
			return err
		}
		r.State = runapi.Queued
		return t.leave(r, "", nil, 0)
	})
}

// samePerson explains the refusal of an approval by a token with another name than the one that asked for the run.
func samePerson(r *record, c *caller) string {
	if r.By == c.name {
		return ""
	}
	return fmt.Sprintf(": the token %s is one of the same person, %s, who has issued it, or has it of the same one", c.name, c.person)
}

// String names a caller, and the person if the token has another name.
func (c *caller) String() string {
	if c.person == "" || c.person == c.name {
		return issuer(c.name)
	}
	return c.name + " of " + c.person
}

// errDecided says that an earlier attempt of a call has decided.
var errDecided = errors.New("it was decided before")

func (s *Server) decide(ctx context.Context, c *caller, id, action string, do func(*tx, *record) error) (*runapi.Run, error) {
	var r *record
	err := s.db.step(ctx, func(t *tx) (err error) {
		if r, err = t.runOf(c, id, t.peek); err == nil {
			err = t.lockStack(r)
		}
		if err == nil {
			r, err = t.run(c.tenant, id)
		}
		if err != nil {
			return err
		}
		if err := do(t, r); err != nil {
			return err
		}
		return t.decided(c, r, action)
	})
	switch {
	case errors.Is(err, errDecided):
		return &r.Run, nil
	case err != nil:
		return nil, err
	}
	s.ended(ctx, r)
	return &r.Run, nil
}

// decided adds a decision about a run to the audit log.
func (t *tx) decided(c *caller, r *record, action string) error {
	return t.audit(c, "run."+action, r.ID, "%s of %s/%s, asked for by %v", r.Operation, r.Project, r.Stack, &caller{name: r.By, person: r.Person})
}
