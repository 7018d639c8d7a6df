package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// maxAuditText bounds the subject and the detail of an entry, in bytes.
	maxAuditText = 1 << 10
	// maxAuditPage bounds the entries of an answer.
	maxAuditPage = 1000
	// keptRefusals is how many refusals of a team are kept: a token that is refused all the time fills no disk, and displaces
	// nothing else.
	keptRefusals = 10_000
	// pruneRefusals is the number of new refusals after which a server removes the oldest of a team, without waiting for the hourly pruning.
	// It does so for the team with the last of them.
	pruneRefusals = 500
)

// audit adds an entry to the audit log, in the transaction of the logged action, and counts it in the size of the team. Nothing changes an
// entry, and only age removes one.
func (t *tx) audit(c *caller, action, subject, format string, args ...any) error {
	subject, detail := storable(subject, maxAuditText), storable(fmt.Sprintf(format, args...), maxAuditText)
	_, err := t.exec("INSERT INTO husk_audit (tenant, at, token, person, address, action, subject, detail) VALUES (?, "+t.now()+", ?, ?, ?, ?, ?, ?)",
		c.tenant, c.name, c.person, c.from, action, subject, detail)
	if err == nil {
		t.keeps(c.tenant, int64(smallRow+len(subject)+len(detail)))
	}
	return err
}

// auditState adds an entry for a call that writes the state of a stack outside of a run, before the call: states are elsewhere. A call
// whose entry has no room is refused.
func (s *Server) auditState(ctx context.Context, c *caller, call string, stack state.StackName, detail string) error {
	err := s.roomForRequest(ctx, c.tenant, 0)
	if err == nil {
		err = s.db.step(ctx, func(t *tx) error {
			return t.audit(c, "state."+strings.ReplaceAll(call, "/", "-"), stack.String(), "%s", detail)
		})
	}
	return away(ofState(err))
}

// auditRefusal adds an entry for a request that a token did not allow. An entry that is lost changes nothing about the refusal.
func (s *Server) auditRefusal(r *http.Request, c *caller, refused *refusal) {
	if c == nil || refused.status != http.StatusForbidden && !refused.hides {
		return
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	err := s.db.step(ctx, func(t *tx) error {
		return t.audit(c, runapi.Refused, r.Method+" "+r.URL.Path, "%s", refused.reason)
	})
	if err == nil && s.refusals.Add(1)%pruneRefusals == 0 {
		err = s.pruneRefusals(ctx, c.tenant)
	}
	if err != nil {
		slog.Error("a refusal is not in the audit log", "token", c.name, "tenant", c.tenant, "error", err)
	}
}

// auditLog returns the newest entries of a tenant whose numbers are less than one.
func (s *Server) auditLog(ctx context.Context, tenant string, before int64, most int) (all []runapi.AuditEntry, err error) {
	all = []runapi.AuditEntry{}
	err = s.db.step(ctx, func(t *tx) error {
		return t.rows(func(scan func(...any) error) error {
			var e runapi.AuditEntry
			var at int64
			if err := scan(&e.Number, &at, &e.Token, &e.Person, &e.From, &e.Action, &e.Subject, &e.Detail); err != nil {
				return err
			}
			e.Time = timeOf(at)
			all = append(all, e)
			return intake.Room(ctx, rowCopies*int64(smallRow+len(e.Subject)+len(e.Detail)))
		}, "SELECT number, at, token, person, address, action, subject, detail FROM husk_audit WHERE tenant = ? AND number < ? ORDER BY number DESC LIMIT ?",
			tenant, before, min(most, maxAuditPage))
	})
	return all, err
}

// AuditLog writes the audit log of a team, also of one that has ended, as lines of JSON, the newest entry first.
func (s *Server) AuditLog(ctx context.Context, w io.Writer, team string) error {
	out := json.NewEncoder(w)
	for before := int64(math.MaxInt64); ; {
		page, err := s.auditLog(ctx, team, before, maxAuditPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if err := out.Encode(e); err != nil {
				return err
			}
			before = e.Number
		}
	}
}

// pruneAudit removes entries that are older than the server keeps them, and all but the newest refusals of each team.
func (s *Server) pruneAudit(ctx context.Context, now time.Time) error {
	err := s.removeAudit(ctx, "at < ?", millis(now.Add(-s.options.KeepAudit)))
	var tenants []string
	err = errors.Join(err, s.db.step(ctx, func(t *tx) (err error) {
		tenants, err = t.texts("SELECT tenant FROM husk_audit WHERE action = 'refused' GROUP BY tenant HAVING count(*) > ?", keptRefusals)
		return err
	}))
	for _, tenant := range tenants {
		err = errors.Join(err, s.pruneRefusals(ctx, tenant))
	}
	return err
}

// pruneRefusals removes all but the newest refusals of a team.
func (s *Server) pruneRefusals(ctx context.Context, tenant string) error {
	return s.removeAudit(ctx, "action = 'refused' AND tenant = ? AND number <= (SELECT number FROM husk_audit WHERE action = 'refused' AND tenant = ?"+
		" ORDER BY number DESC LIMIT 1 OFFSET ?)", tenant, tenant, keptRefusals)
}

// removeAudit removes the entries that meet a condition, and subtracts them from the sizes of their teams.
func (s *Server) removeAudit(ctx context.Context, condition string, args ...any) error {
	const most = 1000 // in a step, so that others get their turn
	return s.inSteps(ctx, func(t *tx) (bool, error) {
		var n int
		if err := t.rows(func(scan func(...any) error) error {
			var tenant string
			var size int64
			err := scan(&tenant, &size)
			n++
			t.keeps(tenant, -(smallRow + size))
			return err
		}, "DELETE FROM husk_audit WHERE number IN (SELECT number FROM husk_audit WHERE "+condition+" LIMIT ?)"+
			" RETURNING tenant, octet_length(subject) + octet_length(detail)", append(args, most)...); err != nil {
			return false, err
		}
		return n == most, nil
	})
}
