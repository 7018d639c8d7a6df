package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/trace"
)

const (
	// maxOpen bounds the runs of a tenant that are not final.
	maxOpen = 100_000
	// countedFor is how long their known number counts as up to date, apart from the ones that this server adds.
	countedFor = 5 * time.Second
)

// counted is a number of runs, and when they were counted.
type counted struct {
	count int
	at    time.Time
}

var labelPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)

// labelsIn calls yield for each label of a selector, as NAME=VALUE.
func labelsIn(selector string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(selector) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// selects reports whether a worker with labels takes runs with a selector. An edge worker takes runs that ask for it.
func selects(selector string, labels map[string]string) bool {
	if name, edge := labels[runapi.EdgeLabel]; edge && !slices.Contains(slices.Collect(labelsIn(selector)), runapi.EdgeLabel+"="+name) {
		return false
	}
	for label := range labelsIn(selector) {
		name, value, _ := strings.Cut(label, "=")
		if is, ok := labels[name]; !ok || is != value {
			return false
		}
	}
	return true
}

func checkLabels(labels map[string]string) error {
	const most = 32
	if len(labels) > most {
		return refusef(http.StatusBadRequest, "there are %d labels, and at most %d are allowed", len(labels), most)
	}
	for name, value := range labels {
		if !labelPattern.MatchString(name) || !labelPattern.MatchString(value) {
			return refusef(http.StatusBadRequest, "the label %q=%q: names and values have letters, digits, and \"._-/\", and at most 63 of them", name, value)
		}
	}
	return nil
}

func checkNewRun(n *runapi.NewRun) error {
	if err := n.Check(); err != nil {
		return refusef(http.StatusBadRequest, "%v", err)
	}
	if !n.Changes() && n.Approval {
		return refusef(http.StatusBadRequest, "a preview changes nothing, and needs no approval")
	}
	if _, ok := trace.ParseTraceparent(n.Traceparent); !ok && n.Traceparent != "" {
		return refusef(http.StatusBadRequest, "%q is not a traceparent", n.Traceparent)
	}
	return checkLabels(n.Labels)
}

// request queues a run. One with the same ID that the caller has queued before is returned.
func (s *Server) request(ctx context.Context, c *caller, n runapi.NewRun) (*runapi.Run, error) {
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if err := checkNewRun(&n); err != nil {
		return nil, err
	}
	if err := c.require(roleFor(n.Operation), n.Project); err != nil {
		return nil, err
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = s.roomForRequest(ctx, c.tenant, len(text))
	}
	if err != nil {
		return nil, err
	}
	var made *record
	err = s.db.step(ctx, func(t *tx) (err error) {
		if made, err = t.known(c, n.ID); made != nil || err != nil {
			if made != nil && made.By != c.name {
				return refusef(http.StatusConflict, "the ID of the run is in use: choose another")
			}
		} else {
			made, err = s.queue(t, c, n)
		}
		if err != nil {
			return err
		}
		return s.explain(t, made)
	})
	if err != nil {
		return nil, err
	}
	s.madeWay(ctx, made)
	return &made.Run, nil
}

const (
	// openOfStrangers are the open runs of a stack that webhooks have asked for strangers, such as previews of changes from forks.
	openOfStrangers = " FROM husk_runs WHERE tenant = ? AND project = ? AND stack = ? AND state IN ('queued', 'running', 'waiting') AND withheld = 1 AND requested_by LIKE 'webhook %'"
	// maxStrangers bounds them: each may be long, and the next begins once it has ended.
	maxStrangers = 100
)

// makeWay cancels the runs of strangers on the stack of r, and returns them. Such runs change nothing, and can be repeated.
func (t *tx) makeWay(c *caller, r *record) (cancelled []*record, err error) {
	open, err := t.texts("SELECT id"+openOfStrangers+" AND cancel < ?", r.tenant, r.Project, r.Stack, mostCancel)
	for _, id := range open {
		var one *record
		if one, err = t.run(r.tenant, id); err == nil {
			err = t.cancel(c, one, mostCancel)
		}
		if err == nil {
			err = t.decided(c, one, "cancel")
		}
		if err != nil {
			return nil, err
		}
		cancelled = append(cancelled, one)
	}
	return cancelled, err
}

// roomForStranger returns an error if too many runs of strangers are open on the stack of r, which is locked.
func (t *tx) roomForStranger(r *record) error {
	var open int
	if err := t.row("SELECT count(*)"+openOfStrangers, r.tenant, r.Project, r.Stack).Scan(&open); err != nil {
		return err
	}
	if open >= maxStrangers {
		return tryLaterf(http.StatusTooManyRequests, "%d runs of strangers are waiting already for %s/%s", open, r.Project, r.Stack)
	}
	return nil
}

// madeWay calls [Server.ended] for the runs that [tx.makeWay] cancelled for r.
func (s *Server) madeWay(ctx context.Context, r *record) {
	for _, one := range r.cancelled {
		s.ended(ctx, one)
	}
}

// queue adds a run that was checked. The server may want an approval that who asks, or has asked for a schedule, does not.
func (s *Server) queue(t *tx, c *caller, n runapi.NewRun) (*record, error) {
	if s.options.RequireApproval && n.Changes() {
		n.Approval = true
	}
	if err := s.roomForRun(t, c.tenant); err != nil {
		return nil, err
	}
	if err := t.hasBundle(c.tenant, n.Bundle); err != nil {
		return nil, err
	}
	request, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	projects, err := json.Marshal(append([]string{}, c.projects...))
	if err != nil {
		return nil, err
	}
	previewing, withheld := 0, 0
	if n.Approval {
		previewing = 1
	}
	if c.stranger || !c.may(runapi.Request) && !s.options.PreviewSecrets {
		withheld = 1
	}
	stack := &record{tenant: c.tenant, Run: runapi.Run{NewRun: runapi.NewRun{Project: n.Project, Stack: n.Stack}}}
	if err := t.lockStack(stack); err != nil {
		return nil, err
	}
	var cancelled []*record
	if c.stranger {
		err = t.roomForStranger(stack)
	} else {
		cancelled, err = t.makeWay(c, stack)
	}
	if err != nil {
		return nil, err
	}
	_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_person, asker, asked_with, requested_projects, withheld,"+
		" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', '', 0, '', 0, 0, 0, 0, '', ?, 0, 0)",
		n.ID, c.tenant, n.Project, n.Stack, string(request), n.Bundle, runapi.Selector(n.Labels), previewing, c.name, c.person, identity.PersonKey(c.person), cmp.Or(c.hash, byWebhook), string(projects), withheld, millis(t.Now()))
	if err != nil {
		return nil, err
	}
	r, err := t.run(c.tenant, n.ID)
	if err != nil {
		return nil, err
	}
	r.cancelled = cancelled
	if err := t.ready("id = ?", n.ID); err != nil {
		return nil, err
	}
	return r, t.keep(r)
}

// roomForRun returns an error if a tenant has too many runs that are not final. They are counted at times, as there may be many, and before
// one is refused.
func (s *Server) roomForRun(t *tx, tenant string) error {
	s.mu.Lock()
	known := s.open[tenant]
	s.mu.Unlock()
	if known.count++; known.count > maxOpen || time.Since(known.at) > countedFor {
		if err := t.row("SELECT count(*) FROM husk_runs WHERE tenant = ? AND state IN ('queued', 'running', 'waiting')", tenant).Scan(&known.count); err != nil {
			return err
		}
		if known.count >= maxOpen {
			return refusef(http.StatusTooManyRequests, "%d runs of %s are waiting already", known.count, tenant)
		}
		known.count++
		known.at = time.Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[tenant] = known
	return nil
}

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
