package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/riverqueue/river"

	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

// AddTask implements [webhook.Server].
func (s *Server) AddTask(ctx context.Context, t webhook.Task) (isNew bool, err error) {
	const attempts = 12 // of calls to a host, for some hours
	added, err := s.timers.Insert(ctx, t, &river.InsertOpts{Queue: hookQueue, MaxAttempts: attempts, UniqueOpts: river.UniqueOpts{ByArgs: true}})
	if err != nil {
		return false, err
	}
	return !added.UniqueSkippedAsDuplicate, nil
}

// callerOf returns the caller that a webhook asks for.
func callerOf(by webhook.Asker) *caller {
	return &caller{tenant: by.Team, name: by.Name, person: by.Person, role: by.Role, projects: []string{by.Project}, stranger: by.Stranger, from: by.From}
}

// KeepBundle implements [webhook.Server].
func (s *Server) KeepBundle(ctx context.Context, by webhook.Asker, content []byte) (digest string, err error) {
	held := s.memory.Hold(by.Team)
	defer held.End()
	room := s.room
	if by.Stranger {
		room = s.roomForStranger
	}
	if err := errors.Join(held.Add(int64(len(content))), room(ctx, by.Team, int64(len(content)))); err != nil {
		return "", err
	}
	digest = backend.Digest(content)
	return digest, s.db.step(ctx, func(t *tx) error { return t.addBundle(by.Team, digest, content) })
}

// Ask implements [webhook.Server].
func (s *Server) Ask(ctx context.Context, by webhook.Asker, n runapi.NewRun) (*runapi.Run, error) {
	if err := s.db.alone(ctx, func(t *tx) error {
		is, err := t.hasTenant(by.Team)
		if err == nil && !is {
			err = refusef(http.StatusNotFound, "there is no team %q: issue its first token", by.Team)
		}
		return err
	}); err != nil {
		return nil, err
	}
	return s.request(ctx, callerOf(by), n)
}

// Look implements [webhook.Server].
func (s *Server) Look(ctx context.Context, team, id string) (*runapi.Run, string, error) {
	const most, mostBytes = 400, 48 << 10 // of a comment
	var r *record
	var lines []string
	err := s.db.step(ctx, func(t *tx) (err error) {
		if r, err = t.peek(team, id); err == nil && r == nil {
			err = t.noRun(id)
		}
		if err != nil {
			return err
		}
		lines, err = t.texts("SELECT text FROM husk_lines WHERE run = ? AND stream IN ('out', 'err') ORDER BY number DESC LIMIT ?", id, most)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	bytes, n := 0, 0
	for n < len(lines) && bytes+len(lines[n]) < mostBytes {
		bytes += len(lines[n]) + 1
		n++
	}
	lines = lines[:n]
	slices.Reverse(lines)
	return &r.Run, strings.Join(lines, "\n"), nil
}

// Audit implements [webhook.Server].
func (s *Server) Audit(ctx context.Context, by webhook.Asker, action, subject, detail string) error {
	return s.db.step(ctx, func(t *tx) error { return t.audit(callerOf(by), action, subject, "%s", detail) })
}

// hook takes the delivery of a host of repositories.
func (s *Server) hook(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	name := r.PathValue("hook")
	if s.options.Webhooks == nil {
		return nil, refusef(http.StatusNotFound, "this server has no hooks: who runs it sets --webhooks")
	}
	content, _, done, err := s.body(w, r, c, webhook.MaxBody)
	if err != nil {
		return nil, err
	}
	defer done()
	isNew, err := s.options.Webhooks.Receive(r.Context(), s, name, r.Header, content, c.from)
	var refused *webhook.RefusedError
	if errors.As(err, &refused) {
		return nil, &refusal{status: refused.Status, reason: refused.Reason}
	}
	return map[string]bool{"accepted": isNew}, err
}
