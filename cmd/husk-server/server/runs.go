package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
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
	plan     []byte
	token    string
	lease    time.Time
	cancel   int
	lines    int64
}

const (
	// maxAttempts is how many workers may be lost with a run.
	maxAttempts = 3
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

const columns = "id, tenant, project, stack, request, selector, state, previewing, requested_by, requested_projects, approved_by, plan, worker, attempt, token, lease, cancel, lines, reason, made, began, ended"

func scanRun(scan func(...any) error) (*record, error) {
	r := &record{}
	var request, projects string
	var previewing int
	var lease, made, began, ended int64
	var id, project, stack string
	err := scan(&id, &r.tenant, &project, &stack, &request, &r.selector, &r.State, &previewing, &r.By, &projects, &r.ApprovedBy,
		&r.plan, &r.Worker, &r.Attempt, &r.token, &lease, &r.cancel, &r.lines, &r.Reason, &made, &began, &ended)
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
		err = refusef(http.StatusNotFound, "there is no run %s: husk remote ls lists them", id)
	}
	return r, err
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
	case n.Operation == "preview" && n.Approval:
		return refusef(http.StatusBadRequest, "a preview changes nothing, and needs no approval")
	case n.Directory != "" && (path.IsAbs(n.Directory) || path.Clean(n.Directory) != n.Directory || strings.HasPrefix(n.Directory, "..") || strings.Contains(n.Directory, "\\")):
		return refusef(http.StatusBadRequest, "the directory %q is none in a bundle", n.Directory)
	case !digestPattern.MatchString(n.Bundle):
		return refusef(http.StatusBadRequest, "the bundle %q: its digest has the form sha256:…", n.Bundle)
	}
	const most, longest = 256, 4096
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
	} else if s.options.RequireApproval {
		n.Approval = true
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
		made, err = t.queue(c, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.changed.wake()
	return &made.Run, nil
}

// queue adds a run that was checked.
func (t *tx) queue(c *caller, n runapi.NewRun) (*record, error) {
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

// claim gives a worker the oldest run that it can take, whose stack has no other run and no older one that waits. It is
// nil if there is none.
func (s *Server) claim(ctx context.Context, c *caller, ask runapi.Ask) (claim *runapi.Claim, err error) {
	first := false // of its workers
	labels, err := json.Marshal(ask.Labels)
	if err != nil {
		return nil, err
	}
	err = s.db.step(ctx, func(t *tx) error {
		now := time.Now()
		_, err := t.exec("INSERT INTO husk_workers (tenant, name, labels, slots, running, seen) VALUES (?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (tenant, name) DO UPDATE SET labels = excluded.labels, slots = excluded.slots, running = excluded.running, seen = excluded.seen",
			c.tenant, ask.Worker, string(labels), ask.Slots, ask.Running, now.UnixMilli())
		if err != nil {
			return err
		}
		var wanted []any
		err = t.rows(func(scan func(...any) error) error {
			var selector string
			if err := scan(&selector); err != nil {
				return err
			}
			if selects(selector, ask.Labels) {
				wanted = append(wanted, selector)
			}
			return nil
		}, "SELECT DISTINCT selector FROM husk_runs WHERE state = 'queued'")
		if err != nil || len(wanted) == 0 {
			return err
		}
		condition := "state = 'queued' AND not_before <= ? AND selector IN (?" + strings.Repeat(", ?", len(wanted)-1) + ")"
		args := append([]any{now.UnixMilli()}, wanted...)
		if c.tenant != everyTenant {
			condition, args = condition+" AND tenant = ?", append(args, c.tenant)
		}
		r, err := t.runWhere(condition+" AND NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.tenant = husk_runs.tenant AND o.project = husk_runs.project"+
			" AND o.stack = husk_runs.stack AND (o.state = 'running' OR o.state IN ('queued', 'waiting') AND o.number < husk_runs.number))"+
			" ORDER BY number LIMIT 1"+t.locked(), args...)
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
		claim = &runapi.Claim{Run: r.Run, Token: secret, Next: r.lines + 1, Plan: r.plan, BeatSeconds: (s.options.Lease / 3).Seconds()}
		return nil
	})
	if conflict(err) {
		return nil, nil // another worker was first with a run of the same stack
	}
	if err == nil && claim != nil {
		if first {
			s.metrics.wait(claim.Began.Sub(claim.Made))
			s.traceWait(&claim.Run)
		}
		s.changed.wake()
	}
	return claim, err
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
		s.changed.wake()
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
		switch {
		case next != runapi.Succeeded && next != runapi.Failed && next != runapi.Queued:
			return refusef(http.StatusBadRequest, "a run does not end as %q", next)
		case r.cancel > 0 && next != runapi.Succeeded:
			next, reason = runapi.Cancelled, ""
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
		return t.leave(r, reason, e.Plan)
	})
	if err != nil {
		return err
	}
	s.states.Drop(ended.ID)
	s.ended(ended)
	return nil
}

// leave takes a run from its worker, in its new state.
func (t *tx) leave(r *record, reason string, plan []byte) error {
	r.Reason, r.Ended = reason, time.Time{}
	if r.State.IsFinal() {
		r.Ended = time.Now().UTC()
	}
	if plan == nil {
		plan = r.plan
	}
	_, err := t.exec("UPDATE husk_runs SET state = ?, worker = ?, attempt = ?, token = '', lease = 0, reason = ?, plan = ?, ended = ? WHERE id = ?",
		string(r.State), r.Worker, r.Attempt, reason, plan, millis(r.Ended), r.ID)
	return err
}

// ended tells who waits, and counts.
func (s *Server) ended(r *record) {
	if r.State.IsFinal() {
		s.metrics.end(r)
		s.traceRun(r)
	}
	s.changed.wake()
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
		return t.leave(r, reason, nil)
	})
	if err != nil || !lost {
		return false, again, err
	}
	s.metrics.lost.Add(1)
	s.states.Drop(id)
	s.ended(r)
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
			return t.leave(r, "", nil)
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
			return t.leave(r, "", nil)
		}
		if err := t.say(r, "Approved by %s.", c.name); err != nil {
			return err
		}
		r.State, r.Previewing, r.ApprovedBy = runapi.Queued, false, c.name
		_, err := t.exec("UPDATE husk_runs SET state = 'queued', previewing = 0, approved_by = ?, attempt = 0 WHERE id = ?", c.name, id)
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
	s.ended(r)
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
	if !idPattern.MatchString(p.ID) || !p.State.IsFinal() || !c.uses(p.Project) {
		return refusef(http.StatusBadRequest, "the report is none of a run of this worker that has ended")
	}
	err := s.db.step(ctx, func(t *tx) error {
		known, err := t.runWhere("id = ?", p.ID)
		if known != nil || err != nil {
			return err // it was reported before
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
		s.changed.wake()
	}
	return err
}

// runs returns those that a caller may see, the newest first.
func (s *Server) runs(ctx context.Context, c *caller, project, stack string, open bool, most int) (all []runapi.Run, err error) {
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
	err = s.db.step(ctx, func(t *tx) error {
		return t.rows(func(scan func(...any) error) error {
			r, err := scanRun(scan)
			if err == nil && r != nil && c.uses(r.Project) && len(all) < most {
				all = append(all, r.Run)
			}
			return err
		}, "SELECT "+columns+" FROM husk_runs WHERE "+condition+" ORDER BY number DESC LIMIT 1000", args...)
	})
	return all, err
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
			return refusef(http.StatusNotFound, "there is no run %s: husk remote ls lists them", id)
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
