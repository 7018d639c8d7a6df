package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/printable"
)

const (
	// maxAttempts is how many workers may be lost with a run.
	maxAttempts = 3
	// maxTries is how often a run is tried whose stack another run has, or has taken from it, or whose process was killed. The time
	// between two tries grows from a sixth of the lease to the lease, and all tries take longer than a server that is gone keeps the
	// lock of a stack.
	maxTries = 10
	// maxLine bounds a line of a log, and maxLog all of its lines, in bytes. A line counts lineBytes more than its text.
	maxLine, maxLog, lineBytes = 256 << 10, 64 << 20, 64
)

// newLines returns lines of a worker as the log of a run is to have them, and counts them. Those that it has already are left out, and so
// are those for which it has no room.
func (r *record) newLines(lines []runapi.Line) (fresh []runapi.Line, err error) {
	for _, l := range lines {
		if l.Stream == runapi.Server {
			l.Stream = runapi.Worker // as workers of earlier versions call what they say themselves: it is not the server's
		}
		if !slices.Contains(streams, l.Stream) {
			return nil, refusef(http.StatusBadRequest, "the stream %.20q of a line: it is one of %s", l.Stream, strings.Join(streams, ", "))
		}
		sent := r.lines - r.said
		if l.Number <= sent {
			continue
		}
		if l.Number != sent+1 {
			return nil, refusef(http.StatusConflict, "workers have sent %d lines of the log, and the next that was sent is %d", sent, l.Number)
		}
		r.lines++
		l.Number = r.lines
		if r.logged >= maxLog {
			continue
		}
		if l.Text = storable(l.Text, maxLine); r.logged+sizeOf(l) >= maxLog {
			r.logged, l.Stream, l.Text = maxLog, runapi.Server, fmt.Sprintf("What follows was not kept: a log has at most %d MiB.", maxLog>>20)
		}
		r.logged += sizeOf(l)
		fresh = append(fresh, l)
	}
	return fresh, nil
}

// sizeOf is what a line counts in the log, in bytes.
func sizeOf(l runapi.Line) int64 { return int64(len(l.Text)) + lineBytes }

// linesOf are the columns of lines in the text of [encoded], for a run.
func (t *tx) linesOf() string {
	if t.postgres {
		return "CAST(? AS text), l.number, l.stream, l.time, l.text FROM json_to_recordset(CAST(CAST(? AS text) AS json)) l(number bigint, stream text, time bigint, text text)"
	}
	return "?, value->>'number', value->>'stream', value->>'time', value->>'text' FROM json_each(?)"
}

// addLines adds lines that [record.newLines] has counted.
func (t *tx) addLines(r *record, lines []runapi.Line) error {
	text, err := encoded(t.ctx, lines)
	if err == nil {
		_, err = t.exec("INSERT INTO husk_lines (run, number, stream, time, text) SELECT "+t.linesOf(), r.ID, text)
	}
	return err
}

// encoded returns lines as one argument of a statement, however many there are.
func encoded(ctx context.Context, lines []runapi.Line) (string, error) {
	type line struct {
		Number int64  `json:"number"`
		Stream string `json:"stream"`
		Time   int64  `json:"time"`
		Text   string `json:"text"`
	}
	const copies = 3 // here, as a text, and the database's
	var bytes int64
	all := make([]line, len(lines))
	for i, l := range lines {
		bytes += sizeOf(l)
		all[i] = line{l.Number, l.Stream, millis(l.Time), l.Text}
	}
	if err := intake.Room(ctx, copies*bytes); err != nil {
		return "", err
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// streams are the streams of workers.
var streams = []string{runapi.Out, runapi.Err, runapi.Worker}

// storable returns a text, or the beginning of it, that every database takes.
func storable(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// plain returns a worker's reason as one line, because people read it among other texts.
func plain(reason string) string { return printable.Line(storable(reason, runapi.MaxMessage)) }

func (t *tx) addLine(r *record, l runapi.Line) error {
	r.logged += sizeOf(l)
	_, err := t.exec("INSERT INTO husk_lines (run, number, stream, time, text) VALUES (?, ?, ?, ?, ?)", r.ID, l.Number, l.Stream, millis(l.Time), l.Text)
	return err
}

// logged notes how long the log is.
func (t *tx) logged(r *record) error {
	_, err := t.exec("UPDATE husk_runs SET lines = ?, said = ?, logged = ? WHERE id = ?", r.lines, r.said, r.logged, r.ID)
	return err
}

// say adds a line of the server to a log, which has room for these.
func (t *tx) say(r *record, format string, args ...any) error {
	r.lines, r.said = r.lines+1, r.said+1
	line := runapi.Line{Number: r.lines, Stream: runapi.Server, Time: t.Now(), Text: storable(fmt.Sprintf(format, args...), maxLine)}
	if err := t.addLine(r, line); err != nil {
		return err
	}
	return t.logged(r)
}

// held returns the run that a worker has, for a step.
func (t *tx) held(c *caller) (*record, error) {
	r, err := t.run(c.tenant, c.run.ID)
	if err == nil && (r.State != runapi.Running || r.token != c.run.token) {
		err = refusef(http.StatusGone, "the run %s goes on elsewhere: the server had not heard of this worker for too long", c.run.ID)
	}
	return r, err
}

// beat records that a worker has a run, and its log.
func (s *Server) beat(ctx context.Context, c *caller, b runapi.Beat) (answer runapi.Answer, err error) {
	done := false
	if len(b.Lines) == 0 || s.db.postgres {
		if done, err = s.beatAtOnce(ctx, c, b, &answer); err != nil {
			return answer, err
		}
	}
	if !done {
		err = s.db.step(ctx, func(t *tx) error {
			r, err := t.held(c)
			if err != nil {
				return err
			}
			answer.Cancel = r.cancel
			lines, err := r.newLines(b.Lines)
			if err == nil {
				err = t.addLines(r, lines)
			}
			if err != nil {
				return err
			}
			_, err = t.exec("UPDATE husk_runs SET lease = "+t.now()+" + ?, lines = ?, logged = ? WHERE id = ?", s.options.Lease.Milliseconds(), r.lines, r.logged, r.ID)
			return err
		})
	}
	if err == nil && len(b.Lines) > 0 {
		s.changed.tell(c.run.ID)
	}
	return answer, err
}

// beatAtOnce is beat as one statement. It does nothing if the worker has the run no more, or if the log is not as it was when the request
// began.
func (s *Server) beatAtOnce(ctx context.Context, c *caller, b runapi.Beat, answer *runapi.Answer) (done bool, err error) {
	r := *c.run
	lines, err := r.newLines(b.Lines)
	if err != nil {
		return false, nil // the log may be further
	}
	err = s.db.alone(ctx, func(t *tx) error {
		beat := "UPDATE husk_runs SET lease = " + t.now() + " + ?, lines = ?, logged = ? WHERE id = ? AND tenant = ? AND token = ? AND state = 'running' AND lines = ? AND logged = ? RETURNING cancel"
		args := []any{s.options.Lease.Milliseconds(), r.lines, r.logged, r.ID, r.tenant, r.token, c.run.lines, c.run.logged}
		if len(lines) > 0 {
			text, err := encoded(t.ctx, lines)
			if err != nil {
				return err
			}
			beat = "WITH held AS (" + beat + "), added AS (INSERT INTO husk_lines (run, number, stream, time, text) SELECT " + t.linesOf() + ", held) SELECT cancel FROM held"
			args = append(args, r.ID, text)
		}
		return t.row(beat, args...).Scan(&answer.Cancel)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// end records how a run ended at a worker.
func (s *Server) end(ctx context.Context, c *caller, e runapi.End) error {
	// The plan can be handed out again.
	if err := intake.Room(ctx, planCopies*int64(len(e.Plan))); err != nil {
		return err
	}
	var unsettled []string
	if e.Outcome == runapi.Queued && e.Reason != "" || e.Outcome == runapi.Attention {
		var err error
		if unsettled, err = s.unsettled(ctx, c.run); err != nil {
			return err
		}
	}
	var ended *record
	err := s.db.step(ctx, func(t *tx) error {
		if err := t.lockStack(c.run); err != nil {
			return err
		}
		r, err := t.held(c)
		if err != nil {
			return err
		}
		ended = r
		next, reason := e.Outcome, plain(e.Reason)
		plan := []byte(nil)
		var later time.Duration
		switch {
		case next != runapi.Succeeded && next != runapi.Failed && next != runapi.Queued && next != runapi.Attention:
			return refusef(http.StatusBadRequest, "a run does not end as %q", next)
		case r.cancel > 0 && (next != runapi.Succeeded || r.Previewing):
			r.lost, next, reason = r.token, runapi.Cancelled, "" // it may hand in unrecorded objects
		case next == runapi.Queued && len(unsettled) > 0:
			r.lost, next, reason = r.token, runapi.Attention, reason+"; "+runapi.UnsettledReason
			if err := t.needAttention(r, unsettled); err != nil {
				return err
			}
		case next == runapi.Attention && r.lost == "":
			next = runapi.Failed // the pending operation belongs to another run, as its reason says
		case next == runapi.Attention:
			r.Attempt-- // no worker was lost
			if err := t.needAttention(r, unsettled); err != nil {
				return err
			}
		case next == runapi.Queued && reason != "":
			r.lost = r.token
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
			next, plan = runapi.Waiting, e.Plan // the plan to approve; no other end has one
			if err := t.say(r, "Waiting for approval by another user: husk remote approve %s, or reject.", r.ID); err != nil {
				return err
			}
		}
		r.State = next
		return t.leave(r, reason, plan, later)
	})
	if err != nil {
		return err
	}
	s.endLease(ctx, ended)
	s.ended(ctx, ended)
	return nil
}

// needAttention says that a run needs attention, and which resources may have objects without a record.
func (t *tx) needAttention(r *record, urns []string) error {
	const most = 20
	for i, urn := range urns {
		if i == most {
			urn = fmt.Sprintf("%d others", len(urns)-most)
		}
		if err := t.say(r, "May exist without a record: %s", urn); err != nil {
			return err
		}
		if i == most {
			break
		}
	}
	return t.say(r, "The run needs attention: %s. It goes on once that is settled: husk remote retry %s, or cancel.", runapi.UnsettledReason, r.ID)
}

// again says what becomes of a run that has not had its stack, and how much later.
func (t *tx) again(r *record, reason string, lease time.Duration) (next runapi.State, later time.Duration, err error) {
	r.Attempt-- // no worker was lost
	r.tries++
	if r.tries >= maxTries {
		return runapi.Failed, later, nil
	}
	const fraction = 6
	wait := min(lease/fraction<<(r.tries-1), lease)
	r.lines++
	if err := t.addLine(r, runapi.Line{Number: r.lines, Stream: runapi.Worker, Time: t.Now(), Text: reason}); err != nil { // the worker's words
		return "", later, err
	}
	return runapi.Queued, wait, t.say(r, "The run is tried again in %v.", wait.Round(time.Second/10))
}

// leave takes a run from its worker, in its new state. A plan of nil leaves the one that there is, and a run that is queued
// again is taken no earlier than later.
func (t *tx) leave(r *record, reason string, plan []byte, later time.Duration) error {
	r.Reason, r.Ended = storable(reason, runapi.MaxMessage), time.Time{}
	if r.State.IsFinal() {
		r.Ended = t.Now()
	}
	state, attention := r.State, 0
	if state == runapi.Attention {
		state, attention = runapi.Waiting, 1
	}
	notBefore := "?"
	if t.postponed = later > 0; t.postponed {
		notBefore = t.now() + " + ?"
	}
	_, err := t.exec("UPDATE husk_runs SET state = ?, attention = ?, lost = ?, worker = ?, attempt = ?, tries = ?, token = '', lease = 0, ready = 0, not_before = "+notBefore+", reason = ?, ended = ? WHERE id = ?",
		string(state), attention, r.lost, r.Worker, r.Attempt, r.tries, later.Milliseconds(), r.Reason, millis(r.Ended), r.ID)
	switch {
	case err == nil && r.Approval && r.State.IsFinal(): // nobody needs one any more
		_, err = t.exec("DELETE FROM husk_plans WHERE run = ?", r.ID)
	case err == nil && plan != nil:
		_, err = t.exec("INSERT INTO husk_plans (run, content) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET content = excluded.content", r.ID, plan)
	}
	if err != nil {
		return err
	}
	if err := t.readyNext(r); err != nil {
		return err
	}
	return t.keep(r)
}

// keep adds the size of a run that is at no worker to its team's size.
func (t *tx) keep(r *record) error {
	more := smallRow + r.logged + int64(r.request) - r.kept
	if more == 0 {
		return nil
	}
	r.kept += more
	if _, err := t.exec("UPDATE husk_runs SET kept = ? WHERE id = ?", r.kept, r.ID); err != nil {
		return err
	}
	t.keeps(r.tenant, more)
	return nil
}

// keeps adds bytes of runs or audit entries to their team's size, or removes them if more is negative. The row changes at the end
// of the transaction, because others of the team wait from then on.
func (t *tx) keeps(tenant string, more int64) {
	if t.kept == nil {
		t.kept = make(map[string]int64)
	}
	t.kept[tenant] += more
}

// addSizes changes the sizes of teams, in the order that all transactions take.
func (t *tx) addSizes() error {
	for _, tenant := range slices.Sorted(maps.Keys(t.kept)) {
		if _, err := t.exec("INSERT INTO husk_kept (tenant, bytes) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET bytes = husk_kept.bytes + excluded.bytes",
			tenant, t.kept[tenant]); err != nil {
			return err
		}
	}
	return nil
}

// ended tells who follows the run, counts, and wakes workers if it has kept others from them.
func (s *Server) ended(ctx context.Context, r *record) {
	switch {
	case r.State.IsFinal():
		s.counts.end(r)
		s.traceRun(r)
	case r.State == runapi.Attention:
		s.counts.unsettle()
		slog.Warn("a run needs attention: "+runapi.UnsettledReason, "run", r.ID, "tenant", r.tenant, "stack", r.Project+"/"+r.Stack)
	}
	s.changed.tell(r.ID)
	if len(s.options.MaxRuns) == 0 {
		return
	}
	err := s.db.step(context.WithoutCancel(ctx), func(t *tx) error {
		load, err := s.load(t)
		if load.add(r.tenant, r.selector, 1); load.full(r.tenant, r.selector) != "" {
			s.db.ready.wakeAll()
		}
		return err
	})
	if err != nil {
		slog.Warn("workers ask again after a while", "error", err)
	}
}

// lose takes a run from a worker that has been silent for too long.
func (s *Server) lose(ctx context.Context, tenant, id string, attempt int) error {
	var r *record
	// isLost reads the run, and reports whether it is at the silent worker.
	isLost := func(t *tx) (is bool, err error) {
		if r, err = t.run(tenant, id); err != nil || r.State != runapi.Running || r.Attempt != attempt {
			return false, err
		}
		left, err := t.until(r.lease)
		return left <= 0 && err == nil, err
	}
	lost := false
	// First the worker can write no more, then what it may have created is read, and then the run goes on.
	err := s.db.step(ctx, func(t *tx) (err error) {
		if lost, err = isLost(t); lost && r.token != "" {
			_, err = t.exec("UPDATE husk_runs SET lost = token, token = '' WHERE id = ?", id)
		}
		return err
	})
	if err != nil || !lost {
		return err
	}
	s.endLease(ctx, r)
	unsettled, err := s.unsettled(ctx, r)
	if err != nil {
		return err
	}
	err = s.db.step(ctx, func(t *tx) (err error) {
		if err := t.lockStack(r); err != nil {
			return err
		}
		if lost, err = isLost(t); !lost || err != nil {
			return err
		}
		if err := t.say(r, "The worker %s has not been heard of for %v.", r.Worker, s.options.Lease); err != nil {
			return err
		}
		r.State = runapi.Queued
		reason := ""
		switch {
		case r.cancel > 0:
			r.State = runapi.Cancelled
		case len(unsettled) > 0:
			r.State, reason = runapi.Attention, runapi.UnsettledReason
			if err := t.needAttention(r, unsettled); err != nil {
				return err
			}
		case r.Attempt >= maxAttempts:
			r.State, reason = runapi.Failed, fmt.Sprintf("%d workers were lost with the run, the last of them %s", r.Attempt, r.Worker)
		}
		return t.leave(r, reason, nil, 0)
	})
	if err != nil || !lost {
		return err
	}
	s.counts.lose()
	s.ended(ctx, r)
	return nil
}
