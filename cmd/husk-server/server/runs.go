package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/trace"
)

// record is a run as it is in the database.
type record struct {
	runapi.Run
	tenant, selector string
	// projects are those that who asked for the run may use.
	projects []string
	token    string
	lease    time.Time
	cancel   int
	lines    int64
	// tries is how often its stack was not to be had.
	tries int
	// base is where the state was that the preview read, if the approved run must find it there: see [Server.remember].
	base int64
}

const (
	// maxAttempts is how many workers may be lost with a run.
	maxAttempts = 3
	// maxTries is how often a run is tried whose stack another run has, or has taken from it. The time between two tries
	// grows from a sixth of the lease to the lease, and all tries take longer than a server that is gone keeps the lock of a stack.
	maxTries = 10
	// maxOpen bounds the runs of a tenant that are not final.
	maxOpen = 100_000
	// maxLine bounds a line of a log, and maxLines a log.
	maxLine, maxLines = 256 << 10, 1 << 20
)

var (
	idPattern     = regexp.MustCompile(`^[A-Z0-9]{26}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	labelPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
)

const columns = "id, tenant, project, stack, request, selector, state, previewing, requested_by, requested_projects, approved_by, worker, attempt, token, lease, cancel, lines, tries, base, reason, made, began, ended"

// noBase is the base of a run that may begin at any state, and unknownBase that of one which may begin at none.
const noBase, unknownBase = -1, -2

func scanRun(scan func(...any) error) (*record, error) {
	r := &record{}
	var request, projects string
	var previewing int
	var lease, made, began, ended int64
	var id, project, stack string
	err := scan(&id, &r.tenant, &project, &stack, &request, &r.selector, &r.State, &previewing, &r.By, &projects, &r.ApprovedBy,
		&r.Worker, &r.Attempt, &r.token, &lease, &r.cancel, &r.lines, &r.tries, &r.base, &r.Reason, &made, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Previewing, r.lease, r.Made, r.Began, r.Ended = previewing != 0, timeOf(lease), timeOf(made), timeOf(began), timeOf(ended)
	return r, errors.Join(json.Unmarshal([]byte(request), &r.NewRun), json.Unmarshal([]byte(projects), &r.projects))
}

// runWhere returns the run of a condition, nil if there is none.
func (t *tx) runWhere(condition string, args ...any) (*record, error) {
	return scanRun(t.row("SELECT "+columns+" FROM husk_runs WHERE "+condition, args...).Scan)
}

// run returns a run of a tenant that nobody else changes before the transaction ends.
func (t *tx) run(tenant, id string) (*record, error) {
	lock := ""
	if t.postgres {
		lock = " FOR UPDATE"
	}
	r, err := t.runWhere("id = ? AND tenant = ?"+lock, id, tenant)
	if err == nil && r == nil {
		err = t.noRun(id)
	}
	return r, err
}

// noRun is the refusal of a run that the caller does not see. That it is there is said in the log of the server only.
func (t *tx) noRun(id string) error {
	var n int
	if err := t.row("SELECT count(*) FROM husk_runs WHERE id = ?", id).Scan(&n); err != nil {
		return err
	}
	return &refusal{status: http.StatusNotFound, reason: fmt.Sprintf("there is no run %s: husk remote ls lists them", id), hides: n > 0}
}

func selects(selector string, labels map[string]string) bool {
	for line := range strings.Lines(selector) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
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
	stack := state.StackName{Project: n.Project, Name: n.Stack}
	switch {
	case stack.Validate() != nil:
		return refusef(http.StatusBadRequest, "%v", stack.Validate())
	case !slices.Contains(runapi.Operations, n.Operation):
		return refusef(http.StatusBadRequest, "the operation %q: it is one of %s", n.Operation, strings.Join(runapi.Operations, ", "))
	case !changesSomething(n) && n.Approval:
		return refusef(http.StatusBadRequest, "a preview changes nothing, and needs no approval")
	case n.Directory != "" && (path.IsAbs(n.Directory) || path.Clean(n.Directory) != n.Directory || strings.HasPrefix(n.Directory, "..") || strings.Contains(n.Directory, "\\")):
		return refusef(http.StatusBadRequest, "the directory %q is none in a bundle", n.Directory)
	case !digestPattern.MatchString(n.Bundle):
		return refusef(http.StatusBadRequest, "the bundle %q: its digest has the form sha256:…", n.Bundle)
	}
	const most, longest = 256, runapi.MaxMessage
	if len(n.Options) > most || len(n.Message) > longest {
		return refusef(http.StatusBadRequest, "a run has at most %d options, and a message of at most %d bytes", most, longest)
	}
	for _, option := range n.Options {
		if len(option) > longest {
			return refusef(http.StatusBadRequest, "an option has more than %d bytes", longest)
		}
		if err := runapi.CheckOption(n.Operation, option); err != nil {
			return refusef(http.StatusBadRequest, "%v", err)
		}
	}
	if _, ok := trace.ParseTraceparent(n.Traceparent); !ok && n.Traceparent != "" {
		return refusef(http.StatusBadRequest, "%q is no traceparent", n.Traceparent)
	}
	return checkLabels(n.Labels)
}

// changesSomething reports whether a run may change something.
func changesSomething(n *runapi.NewRun) bool {
	previewOnly := n.Operation == "preview"
	for _, option := range n.Options {
		if name, value, ok := strings.Cut(option, "="); name == "--preview-only" {
			is, err := strconv.ParseBool(value)
			previewOnly = !ok || err == nil && is // the last one counts
		}
	}
	return !previewOnly
}

// request queues a run. One with the same ID that was queued before is returned.
func (s *Server) request(ctx context.Context, c *caller, n runapi.NewRun) (*runapi.Run, error) {
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if !idPattern.MatchString(n.ID) {
		return nil, refusef(http.StatusBadRequest, "the ID of a run has 26 upper-case letters and digits")
	}
	if err := checkNewRun(&n); err != nil {
		return nil, err
	}
	role := runapi.Request
	if n.Operation == "preview" {
		role = runapi.Preview
	}
	if err := c.require(role, n.Project); err != nil {
		return nil, err
	}
	var made *record
	err := s.db.step(ctx, func(t *tx) (err error) {
		if made, err = t.runWhere("id = ?", n.ID); made != nil || err != nil {
			if made != nil && made.tenant != c.tenant {
				err = refusef(http.StatusConflict, "the ID of the run is in use: choose another")
			}
			return err
		}
		made, err = s.queue(t, c, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.queued.ring(wantedOf(made))
	return &made.Run, nil
}

// queue adds a run that was checked. The server may want an approval that who asks, or has asked for a schedule, does not.
func (s *Server) queue(t *tx, c *caller, n runapi.NewRun) (*record, error) {
	if s.options.RequireApproval && changesSomething(&n) {
		n.Approval = true
	}
	var open, bundles int
	if err := t.row("SELECT count(*) FROM husk_runs WHERE tenant = ? AND state IN ('queued', 'running', 'waiting')", c.tenant).Scan(&open); err != nil {
		return nil, err
	}
	if open >= maxOpen {
		return nil, refusef(http.StatusTooManyRequests, "%d runs of %s are waiting already", open, c.tenant)
	}
	if err := t.row("SELECT count(*) FROM husk_bundles WHERE tenant = ? AND digest = ?", c.tenant, n.Bundle).Scan(&bundles); err != nil {
		return nil, err
	}
	if bundles == 0 {
		return nil, refusef(http.StatusConflict, "the bundle %s is not here: send it first", n.Bundle)
	}
	request, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	projects, err := json.Marshal(append([]string{}, c.projects...))
	if err != nil {
		return nil, err
	}
	previewing := 0
	if n.Approval {
		previewing = 1
	}
	_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, selector, state, previewing, requested_by, requested_projects,"+
		" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
		" VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, '', '', 0, '', 0, 0, 0, 0, '', ?, 0, 0)",
		n.ID, c.tenant, n.Project, n.Stack, string(request), runapi.Selector(n.Labels), previewing, c.name, string(projects), time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	return t.run(c.tenant, n.ID)
}

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
		n, err := t.exec("UPDATE husk_runs SET state = 'running', worker = ?, attempt = ?, token = ?, lease = ?, began = ? WHERE id = ? AND state = 'queued'",
			r.Worker, r.Attempt, r.token, millis(r.lease), millis(began), r.ID)
		if err != nil || n == 0 {
			return err
		}
		r.Began = began
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
		s.metrics.wait(claim.Began.Sub(claim.Made))
		s.traceWait(&claim.Run)
	}
	s.changed.ring(claim.ID)
	return claim, s.remember(ctx, r)
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

// addLines adds lines to a log. Those that it has already are ignored.
func (t *tx) addLines(r *record, lines []runapi.Line) error {
	for _, l := range lines {
		if l.Number <= r.lines {
			continue
		}
		if l.Number != r.lines+1 {
			return refusef(http.StatusConflict, "the log of the run has %d lines, and the next that was sent is %d", r.lines, l.Number)
		}
		if r.lines >= maxLines {
			return nil // what follows is not kept
		}
		text := strings.ReplaceAll(strings.ToValidUTF8(l.Text, "�"), "\x00", "�")
		if len(text) > maxLine {
			text = text[:maxLine]
		}
		if _, err := t.exec("INSERT INTO husk_lines (run, number, stream, time, text) VALUES (?, ?, ?, ?, ?)", r.ID, l.Number, l.Stream, millis(l.Time), strings.ToValidUTF8(text, "")); err != nil {
			return err
		}
		r.lines++
	}
	_, err := t.exec("UPDATE husk_runs SET lines = ? WHERE id = ?", r.lines, r.ID)
	return err
}

// say adds a line of the server to a log.
func (t *tx) say(r *record, format string, args ...any) error {
	return t.addLines(r, []runapi.Line{{Number: r.lines + 1, Stream: runapi.Server, Time: time.Now(), Text: fmt.Sprintf(format, args...)}})
}

// held returns the run that a worker has, for a step.
func (t *tx) held(c *caller) (*record, error) {
	r, err := t.run(c.tenant, c.run.ID)
	if err == nil && (r.State != runapi.Running || r.token != c.run.token) {
		err = refusef(http.StatusGone, "the run %s goes on elsewhere: the server had not heard of this worker for too long", c.run.ID)
	}
	return r, err
}

// beat records that a worker has a run, and what it logged.
func (s *Server) beat(ctx context.Context, c *caller, b runapi.Beat) (answer runapi.Answer, err error) {
	err = s.db.step(ctx, func(t *tx) error {
		r, err := t.held(c)
		if err != nil {
			return err
		}
		answer.Cancel = r.cancel
		if err := t.addLines(r, b.Lines); err != nil {
			return err
		}
		_, err = t.exec("UPDATE husk_runs SET lease = ? WHERE id = ?", millis(time.Now().Add(s.options.Lease)), r.ID)
		return err
	})
	if err == nil && len(b.Lines) > 0 {
		s.changed.ring(c.run.ID)
	}
	return answer, err
}

// end records how a run ended at a worker.
func (s *Server) end(ctx context.Context, c *caller, e runapi.End) error {
	var ended *record
	err := s.db.step(ctx, func(t *tx) error {
		r, err := t.held(c)
		if err != nil {
			return err
		}
		ended = r
		next, reason := e.Outcome, e.Reason
		var later time.Time
		switch {
		case next != runapi.Succeeded && next != runapi.Failed && next != runapi.Queued:
			return refusef(http.StatusBadRequest, "a run does not end as %q", next)
		case r.cancel > 0 && (next != runapi.Succeeded || r.Previewing):
			next, reason = runapi.Cancelled, ""
		case next == runapi.Queued && reason != "":
			if next, later, err = t.again(r, reason, s.options.Lease); err != nil {
				return err
			}
			if next == runapi.Queued {
				reason = ""
			}
		case next == runapi.Queued:
			// The worker stops, which says nothing of the run.
			r.Attempt--
			if err := t.say(r, "The worker %s stops: the run goes on elsewhere.", r.Worker); err != nil {
				return err
			}
		case next == runapi.Succeeded && r.Previewing:
			next = runapi.Waiting
			if err := t.say(r, "Somebody else is to approve this: husk remote approve %s, or reject.", r.ID); err != nil {
				return err
			}
		}
		r.State = next
		return t.leave(r, reason, e.Plan, later)
	})
	if err != nil {
		return err
	}
	s.states.Drop(ended.ID)
	s.ended(ctx, ended)
	return nil
}

// again says what becomes of a run that has not had its stack, and not before when.
func (t *tx) again(r *record, reason string, lease time.Duration) (next runapi.State, later time.Time, err error) {
	r.Attempt-- // no worker was lost
	r.tries++
	if r.tries >= maxTries {
		return runapi.Failed, later, nil
	}
	const fraction = 6
	wait := min(lease/fraction<<(r.tries-1), lease)
	return runapi.Queued, time.Now().Add(wait), t.say(r, "The run is tried again in %v: %s.", wait.Round(time.Second/10), reason)
}

// leave takes a run from its worker, in its new state. A plan of nil leaves the one that there is, and a run that is queued
// again is taken no earlier than later.
func (t *tx) leave(r *record, reason string, plan []byte, later time.Time) error {
	r.Reason, r.Ended = reason, time.Time{}
	if r.State.IsFinal() {
		r.Ended = time.Now().UTC()
	}
	_, err := t.exec("UPDATE husk_runs SET state = ?, worker = ?, attempt = ?, tries = ?, token = '', lease = 0, not_before = ?, reason = ?, ended = ? WHERE id = ?",
		string(r.State), r.Worker, r.Attempt, r.tries, millis(later), reason, millis(r.Ended), r.ID)
	if err == nil && plan != nil {
		_, err = t.exec("UPDATE husk_runs SET plan = ? WHERE id = ?", plan, r.ID)
	}
	return err
}

// ended tells who waits, and counts.
func (s *Server) ended(ctx context.Context, r *record) {
	if r.State.IsFinal() {
		s.metrics.end(r)
		s.traceRun(r)
	}
	s.changed.ring(r.ID)
	// Its stack is free for the next.
	next := wantedOf(r)
	err := s.db.step(ctx, func(t *tx) error {
		return t.row("SELECT selector FROM husk_runs WHERE tenant = ? AND project = ? AND stack = ? AND state = 'queued' ORDER BY number LIMIT 1", r.tenant, r.Project, r.Stack).Scan(&next.selector)
	})
	if err == nil {
		s.queued.ring(next)
	}
}

// lose takes a run from a worker that has been silent for too long. It reports whether the run was lost.
func (s *Server) lose(ctx context.Context, tenant, id string, attempt int) (lost bool, again time.Time, err error) {
	var r *record
	err = s.db.step(ctx, func(t *tx) (err error) {
		if r, err = t.run(tenant, id); err != nil {
			return err
		}
		if r.State != runapi.Running || r.Attempt != attempt {
			return nil
		}
		if again = r.lease; time.Now().Before(again) {
			return nil
		}
		lost, r.State = true, runapi.Queued
		reason := ""
		switch {
		case r.cancel > 0:
			r.State = runapi.Cancelled
		case r.Attempt >= maxAttempts:
			r.State, reason = runapi.Failed, fmt.Sprintf("%d workers were lost with the run, the last of them %s", r.Attempt, r.Worker)
		}
		if err := t.say(r, "The worker %s has not been heard of for %v.", r.Worker, s.options.Lease); err != nil {
			return err
		}
		return t.leave(r, reason, nil, time.Time{})
	})
	if err != nil || !lost {
		return false, again, err
	}
	s.metrics.lost.Add(1)
	s.states.Drop(id)
	s.ended(ctx, r)
	return true, again, nil
}

// cancelRun asks for the end of a run: at once if it waits, else from its worker.
func (s *Server) cancelRun(ctx context.Context, c *caller, id string) (*runapi.Run, error) {
	return s.decide(ctx, c, id, func(t *tx, r *record) error {
		role := runapi.Request
		if r.Operation == "preview" {
			role = runapi.Preview
		}
		if err := c.require(role, r.Project); err != nil {
			return err
		}
		if r.State.IsFinal() {
			return refusef(http.StatusConflict, "the run %s has %s already", id, r.State)
		}
		if err := t.say(r, "Cancelled by %s.", c.name); err != nil {
			return err
		}
		if r.State != runapi.Running {
			r.State = runapi.Cancelled
			return t.leave(r, "", nil, time.Time{})
		}
		const most = 2
		r.cancel = min(r.cancel+1, most)
		_, err := t.exec("UPDATE husk_runs SET cancel = ? WHERE id = ?", r.cancel, id)
		return err
	})
}

// approve approves or rejects a run that waits for that.
func (s *Server) approve(ctx context.Context, c *caller, id string, yes bool) (*runapi.Run, error) {
	return s.decide(ctx, c, id, func(t *tx, r *record) error {
		if err := c.require(runapi.Approve, r.Project); err != nil {
			return err
		}
		switch {
		case r.State != runapi.Waiting:
			return refusef(http.StatusConflict, "the run %s is %s, and waits for no approval", id, r.State)
		case yes && r.By == c.name:
			return refusef(http.StatusForbidden, "%s asked for the run %s, which somebody else is to approve", c.name, id)
		case !yes:
			r.State = runapi.Rejected
			if err := t.say(r, "Rejected by %s.", c.name); err != nil {
				return err
			}
			return t.leave(r, "", nil, time.Time{})
		}
		if err := t.say(r, "Approved by %s.", c.name); err != nil {
			return err
		}
		r.State, r.Previewing, r.ApprovedBy = runapi.Queued, false, c.name
		_, err := t.exec("UPDATE husk_runs SET state = 'queued', previewing = 0, approved_by = ?, attempt = 0, tries = 0 WHERE id = ?", c.name, id)
		return err
	})
}

func (s *Server) decide(ctx context.Context, c *caller, id string, do func(*tx, *record) error) (*runapi.Run, error) {
	var r *record
	err := s.db.step(ctx, func(t *tx) (err error) {
		if r, err = t.run(c.tenant, id); err != nil {
			return err
		}
		return do(t, r)
	})
	if err != nil {
		return nil, err
	}
	s.ended(ctx, r)
	return &r.Run, nil
}

// report records a run that a worker made on its own.
func (s *Server) report(ctx context.Context, c *caller, p runapi.Report) error {
	if c.tenant == everyTenant {
		return refusef(http.StatusForbidden, "a worker of all tenants makes no runs on its own")
	}
	if err := checkNewRun(&p.NewRun); err != nil {
		return err
	}
	if err := c.require(runapi.Work, p.Project); err != nil {
		return err
	}
	if !idPattern.MatchString(p.ID) || !p.State.IsFinal() {
		return refusef(http.StatusBadRequest, "the report is none of a run of this worker that has ended")
	}
	s.setClock(&p, time.Now())
	err := s.db.step(ctx, func(t *tx) error {
		known, err := t.runWhere("id = ?", p.ID)
		if known != nil || err != nil {
			return err // it was reported before
		}
		of, err := t.runWhere("id = ? AND tenant = ?", p.Of, c.tenant)
		if err != nil {
			return err
		}
		if of != nil && of.Worker == p.Worker && of.Attempt == p.Attempt && (of.State == p.State || of.State == runapi.Cancelled && of.cancel > 0) {
			return nil // its end was recorded, and the answer to that was lost
		}
		request, err := json.Marshal(p.NewRun)
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, selector, state, previewing, requested_by, requested_projects,"+
			" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
			" VALUES (?, ?, ?, ?, ?, '', ?, 0, ?, '[]', '', ?, 1, '', 0, 0, 0, 0, ?, ?, ?, ?)",
			p.ID, c.tenant, p.Project, p.Stack, string(request), string(p.State), c.name, p.Worker, p.Reason, millis(p.Made), millis(p.Began), millis(p.Ended))
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
		s.changed.ring(p.ID)
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

// runs returns those that a caller may see, the newest first.
func (s *Server) runs(ctx context.Context, c *caller, project, stack string, open bool, most int) (all []runapi.Run, err error) {
	const page, largest = 200, 1000
	most = min(most, largest)
	condition, args := "tenant = ?", []any{c.tenant}
	if project != "" {
		condition, args = condition+" AND project = ?", append(args, project)
	}
	if stack != "" {
		condition, args = condition+" AND stack = ?", append(args, stack)
	}
	if open {
		condition += " AND state IN ('queued', 'running', 'waiting')"
	}
	all = []runapi.Run{}
	// Those of other projects are left out after they are read, so it goes on until there are enough.
	for before, more := int64(math.MaxInt64), true; more && len(all) < most; {
		read := 0
		err := s.db.step(ctx, func(t *tx) error {
			return t.rows(func(scan func(...any) error) error {
				read++
				r, err := scanRun(func(into ...any) error { return scan(append([]any{&before}, into...)...) })
				if err == nil && r != nil && c.uses(r.Project) && len(all) < most {
					all = append(all, r.Run)
				}
				return err
			}, "SELECT number, "+columns+" FROM husk_runs WHERE "+condition+" AND number < ? ORDER BY number DESC LIMIT ?", append(slices.Clone(args), before, page)...)
		})
		if err != nil {
			return nil, err
		}
		more = read == page
	}
	return all, nil
}

// log returns a run with lines of its log after a number.
func (s *Server) log(ctx context.Context, c *caller, id string, after int64) (r *record, lines []runapi.Line, err error) {
	const page = 500
	err = s.db.step(ctx, func(t *tx) error {
		lines = nil
		if r, err = t.runWhere("id = ? AND tenant = ?", id, c.tenant); err != nil {
			return err
		}
		if r == nil || !c.uses(r.Project) {
			return t.noRun(id)
		}
		return t.rows(func(scan func(...any) error) error {
			var l runapi.Line
			var at int64
			if err := scan(&l.Number, &l.Stream, &at, &l.Text); err != nil {
				return err
			}
			l.Time = timeOf(at)
			lines = append(lines, l)
			return nil
		}, "SELECT number, stream, time, text FROM husk_lines WHERE run = ? AND number > ? ORDER BY number LIMIT ?", id, after, page)
	})
	return r, lines, err
}
