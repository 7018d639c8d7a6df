package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// A run begins if the token that asked for it may still ask for it, and the token that approved it may still approve it. [Server.claim] reads
// both in the statement that gives the run to a worker. Whatever has taken a right meanwhile need not know of runs.

// afterLogin is how long a run may wait once a login has expired that asked for it, or approved it: over a weekend, although a job of CI is
// logged in for an hour. A login that was revoked, or that its issuer ended, counts no more at once.
const afterLogin = 7 * 24 * time.Hour

// byWebhook is in place of the token of a run that a webhook asked for. Who runs the server says who may do that.
const byWebhook = "webhook"

// standing has the rights of who asked for a run, and of who approved it.
type standing struct {
	hook            bool
	asked, approved sql.NullString
}

// grant is the right that a token gives.
type grant struct {
	Role     runapi.Role `json:"role"`
	Kind     string      `json:"kind"`
	Expires  int64       `json:"expires"`
	Ended    int64       `json:"ended"`
	Projects []string    `json:"projects"`
}

// The columns of a [standing], for a row of husk_runs. Servers of earlier versions do not note the tokens of a run: then a token of the same
// name and person has asked, and one of the same person has approved.
const (
	grantOf = `(SELECT '{"role":"' || k.role || '","kind":"' || k.kind || '","expires":' || k.expires || ',"ended":' || k.ended || ',"projects":' || k.projects || '}' FROM husk_tokens k WHERE `

	standingColumns = "CASE WHEN asked_with = '" + byWebhook + "' OR asked_with = '' AND requested_by LIKE 'webhook %' THEN 1 ELSE 0 END, " +
		"CASE WHEN asked_with <> '' THEN " + grantOf + "k.hash = husk_runs.asked_with)" +
		" ELSE " + grantOf + "k.tenant = husk_runs.tenant AND k.name = husk_runs.requested_by AND k.person = husk_runs.requested_person) END, " +
		"CASE WHEN approved_with <> '' THEN " + grantOf + "k.hash = husk_runs.approved_with)" +
		" WHEN approved_by <> '' THEN " + grantOf + "k.tenant = husk_runs.tenant AND k.person = husk_runs.approved_by AND k.role IN ('approve', 'admin') ORDER BY k.name LIMIT 1) END"
)

// into are the places of the columns of a standing.
func (s *standing) into() []any { return []any{&s.hook, &s.asked, &s.approved} }

// lack says why a run does not begin.
type lack struct {
	// approval says that it lacks an approval, which somebody else may give, and not who asked for it.
	approval bool
	reason   string
}

func (l *lack) Error() string { return l.reason }

// roleFor is the role that somebody needs to ask for an operation.
func roleFor(operation string) runapi.Role {
	if operation == "preview" {
		return runapi.Preview
	}
	return runapi.Request
}

// begins returns a [lack] if a run does not begin. It lowers the rights of a run to the ones of who asked for it.
func (s *Server) begins(t *tx, r *record, of standing) error {
	if !of.hook {
		asked, reason, err := rightOf(of.asked, r.Project, roleFor(r.Operation), t.Now())
		if err != nil {
			return err
		}
		if reason != "" {
			return &lack{reason: fmt.Sprintf("not begun: the token %s, which asked for the run, %s. Ask for it again", r.By, reason)}
		}
		withheld := r.withheld || !asked.may(runapi.Request) && !s.options.PreviewSecrets
		if withheld != r.withheld || !slices.Equal(asked.projects, r.projects) {
			r.withheld, r.projects = withheld, asked.projects
			if err := t.lower(r); err != nil {
				return err
			}
		}
	}
	if r.ApprovedBy == "" {
		if r.Approval && !r.Previewing {
			return &lack{approval: true, reason: "nobody has approved it"}
		}
		return nil
	}
	_, reason, err := rightOf(of.approved, r.Project, runapi.Approve, t.Now())
	if err == nil && reason != "" {
		err = &lack{approval: true, reason: fmt.Sprintf("the approval of %s counts no more: the token %s", r.ApprovedBy, reason)}
	}
	return err
}

// rightOf returns the caller of a grant, or why it does not give a role in a project.
func rightOf(text sql.NullString, project string, role runapi.Role, now time.Time) (c *caller, lacks string, err error) {
	if !text.Valid {
		return nil, "was revoked", nil
	}
	var g grant
	if err := json.Unmarshal([]byte(text.String), &g); err != nil {
		return nil, "", err
	}
	end := timeOf(g.Expires)
	if g.Kind == loginToken {
		end = end.Add(afterLogin)
	}
	c = &caller{role: g.Role, projects: g.Projects}
	switch {
	case g.Ended > 0:
		return nil, "was ended by the issuer of its login", nil
	case g.Expires > 0 && now.After(end):
		return nil, "has expired", nil
	case !c.may(role):
		return nil, "does not allow this any more: it needs the role " + string(role), nil
	case !c.uses(project):
		return nil, "is for the project " + project + " no more", nil
	}
	return c, "", nil
}

// lower notes the rights of a run.
func (t *tx) lower(r *record) error {
	projects, err := json.Marshal(append([]string{}, r.projects...))
	if err != nil {
		return err
	}
	withheld := 0
	if r.withheld {
		withheld = 1
	}
	_, err = t.exec("UPDATE husk_runs SET withheld = ?, requested_projects = ? WHERE id = ?", withheld, string(projects), r.ID)
	return err
}

// dismiss says in the record of a queued run why it does not begin. A run without who asked for it has ended, unless a worker was lost with
// it that may have created objects: then it needs attention. One without an approval waits for another.
func (s *Server) dismiss(ctx context.Context, r *record) error {
	var unsettled []string
	if r.lost != "" {
		var err error
		if unsettled, err = s.unsettled(ctx, r); err != nil {
			return err
		}
	}
	var is *record
	err := s.db.step(ctx, func(t *tx) (err error) {
		if err := t.lockStack(r); err != nil {
			return err
		}
		if is, err = t.run(r.tenant, r.ID); err != nil {
			return err
		}
		var of standing
		if err := t.row("SELECT "+standingColumns+" FROM husk_runs WHERE id = ?", r.ID).Scan(of.into()...); err != nil {
			return err
		}
		var lacks *lack
		if err := s.begins(t, is, of); err != nil && !errors.As(err, &lacks) {
			return err
		}
		if lacks == nil || is.State != runapi.Queued {
			is = nil // another server was first
			return nil
		}
		switch {
		case lacks.approval:
			err = t.say(is, "Not begun: %s. Somebody else is to approve the run: husk remote approve %s, or reject.", lacks, is.ID)
			if err == nil {
				_, err = t.exec("UPDATE husk_runs SET approved_by = '', approved_with = '', approver = '' WHERE id = ?", is.ID)
			}
			is.State, is.ApprovedBy = runapi.Waiting, ""
		case len(unsettled) > 0:
			is.State = runapi.Attention
			err = t.needAttention(is, unsettled)
		default:
			is.State = runapi.Failed
		}
		if err == nil {
			err = t.audit(&caller{tenant: is.tenant}, "run.dismiss", is.ID, "%s of %s/%s: %v", is.Operation, is.Project, is.Stack, lacks)
		}
		if err != nil {
			return err
		}
		return t.leave(is, lacks.reason, nil, 0)
	})
	var gone *refusal
	switch {
	case errors.As(err, &gone) && gone.status == http.StatusNotFound:
		return nil // it was removed
	case err != nil || is == nil:
		return err
	}
	slog.Info("a run does not begin", "tenant", is.tenant, "run", is.ID, "state", is.State, "reason", is.Reason)
	s.ended(ctx, is)
	return nil
}
