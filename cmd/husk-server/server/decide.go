package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// cancelRun asks for the end of a run: at once if it waits, else from its worker. A call that has an ID does so once, however often it
// is sent: else an answer that was lost had steps stopped that were to end.
func (s *Server) cancelRun(ctx context.Context, c *caller, id, call string) (*runapi.Run, error) {
	if call != "" && !runapi.IsID(call) {
		return nil, refusef(http.StatusBadRequest, "%.60q is not the ID of a call, which has 26 upper-case letters and digits", call)
	}
	return s.decide(ctx, c, id, "cancel", func(t *tx, r *record) error {
		role := runapi.Request
		if r.Operation == "preview" {
			role = runapi.Preview
		}
		if err := c.require(role, r.Project); err != nil {
			return err
		}
		if call != "" && r.cancelCall == call {
			return errDecided
		}
		if r.State.IsFinal() {
			return refusef(http.StatusConflict, "the run %s has %s already", id, r.State)
		}
		if err := t.say(r, "Cancelled by %s.", c); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE husk_runs SET cancel_call = ? WHERE id = ?", call, id); err != nil {
			return err
		}
		if r.State != runapi.Running {
			r.State = runapi.Cancelled
			return t.leave(r, "", nil, 0)
		}
		const most = 2
		r.cancel = min(r.cancel+1, most)
		_, err := t.exec("UPDATE husk_runs SET cancel = ? WHERE id = ?", r.cancel, id)
		return err
	})
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
		case yes && (r.By == c.name || r.Person == c.person):
			return refusef(http.StatusForbidden, "%s asked for the run %s, which somebody else is to approve%s", r.By, id, samePerson(r, c))
		case !yes:
			r.State = runapi.Rejected
			if err := t.say(r, "Rejected by %s.", c); err != nil {
				return err
			}
			return t.leave(r, "", nil, 0)
		}
		if err := t.say(r, "Approved by %s.", c); err != nil {
			return err
		}
		r.State, r.Previewing, r.ApprovedBy = runapi.Queued, false, c.person // whatever token it was
		if _, err := t.exec("UPDATE husk_runs SET state = 'queued', previewing = 0, approved_by = ?, attempt = 0, tries = 0, lost = '' WHERE id = ?", c.person, id); err != nil {
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
		return c.name
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
		return t.audit(c, "run."+action, id, "%s of %s/%s, asked for by %v", r.Operation, r.Project, r.Stack, &caller{name: r.By, person: r.Person})
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
