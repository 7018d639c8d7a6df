package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

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

// oneOf returns a condition for a column, and its argument: the values of queued runs that a tenant has, or any, for which is
// holds. There is none if no value is left. The argument is one however many values there are: databases bound arguments.
func (t *tx) oneOf(tenant, column string, is func(string) bool) (condition string, arg string, err error) {
	of, args := "", []any(nil)
	if tenant != everyTenant {
		of, args = " AND tenant = ?", []any{tenant}
	}
	var values []string
	err = t.rows(func(scan func(...any) error) error {
		var value string
		if err := scan(&value); err != nil {
			return err
		}
		if !is(value) {
			return nil
		}
		values = append(values, value)
		return intake.Room(t.ctx, rowCopies*int64(len(value)))
	}, "SELECT DISTINCT "+column+" FROM husk_runs WHERE "+areReady+of, args...)
	if err != nil || len(values) == 0 {
		return "", "", err
	}
	list, arg, err := t.list(values)
	return " AND " + column + list, arg, err
}

// list returns the condition that what precedes it is one of some values, and its argument, which is one however many there are:
// databases bound arguments.
func (t *tx) list(values []string) (condition, arg string, err error) {
	text, err := json.Marshal(values)
	list := "SELECT value FROM json_each(?)"
	if t.postgres {
		list = "SELECT jsonb_array_elements_text(CAST(CAST(? AS text) AS jsonb))"
	}
	return " IN (" + list + ")", string(text), err
}

// firstOfStack is the condition for a queued run whose stack has no run at a worker, and none that waits and is older, unless that
// needs attention: a later run may be what it needs. The states of others are those of indexes.
const (
	ofStack      = " AND o.tenant = husk_runs.tenant AND o.project = husk_runs.project AND o.stack = husk_runs.stack"
	firstOfStack = "NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.state = 'running'" + ofStack + ")" +
		" AND NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.state IN ('queued', 'running', 'waiting') AND o.attention = 0 AND o.number < husk_runs.number" + ofStack + ")"
)

// areReady is the condition of an index, for the runs that are ready.
const areReady = "state = 'queued' AND ready > 0"

// firstReady returns the oldest run of a condition that is ready for a worker with some labels, nil if there is none.
func (t *tx) firstReady(tenant string, labels map[string]string, condition string, args []any) (*record, error) {
	selectors, err := t.selectors(tenant, labels)
	if err != nil {
		return nil, err
	}
	condition = areReady + " AND selector" + t.bytewise() + " = ? AND not_before <= " + t.now() + condition + " AND " + firstOfStack + " ORDER BY number LIMIT 1"
	if len(selectors) > 1 {
		oldest := make(map[string]int64)
		for _, selector := range selectors {
			var number int64
			if err := t.row("SELECT number FROM husk_runs WHERE "+condition, append([]any{selector}, args...)...).Scan(&number); err == nil {
				oldest[selector] = number
			} else if !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
		}
		selectors = slices.SortedFunc(maps.Keys(oldest), func(a, b string) int { return cmp.Compare(oldest[a], oldest[b]) })
	}
	for _, selector := range selectors {
		r, err := t.runWhere(condition+t.locked(), append([]any{selector}, args...)...)
		if r != nil || err != nil { // else other workers take all of them now
			return r, err
		}
	}
	return nil, nil
}

// selectors returns the selectors of runs that are ready which a worker with some labels can take. It passes over all that begin with
// what the labels have not: as many questions are asked as there are such selectors, and labels.
func (t *tx) selectors(tenant string, labels map[string]string) (found []string, err error) {
	query, args := "SELECT selector FROM husk_runs WHERE "+areReady, []any(nil)
	if tenant != everyTenant {
		query, args = query+" AND tenant = ?", append(args, tenant)
	}
	query += " AND selector" + t.bytewise() + " >= ? ORDER BY selector" + t.bytewise() + " LIMIT 1"
	lines := strings.SplitAfter(runapi.Selector(labels), "\n")
	lines = slices.Sorted(slices.Values(lines[:len(lines)-1]))
	for least, more := "", true; more; {
		var is string
		if err := t.row(query, append(slices.Clone(args), least)...).Scan(&is); errors.Is(err, sql.ErrNoRows) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if selects(is, labels) {
			found = append(found, is)
		}
		least, more = nextSelector(is, lines)
	}
	return found, nil
}

// nextSelector returns the least text after a selector that a selector with some of the lines, which are sorted, can begin with.
func nextSelector(after string, lines []string) (least string, more bool) {
	begin := 0
	begins := []int{0}
	for line := range strings.Lines(after) {
		if _, ok := slices.BinarySearch(lines, line); !ok {
			break
		}
		begin += len(line)
		begins = append(begins, begin)
	}
	for _, begin := range slices.Backward(begins) {
		i, same := slices.BinarySearch(lines, after[begin:])
		if same {
			i++
		}
		if i < len(lines) {
			return after[:begin] + lines[i], true
		}
	}
	return "", false
}

// claim gives a worker the oldest run that it can take, whose stack has no other run and no older one that waits. It is
// nil if there is none.
func (s *Server) claim(ctx context.Context, c *caller, ask runapi.Ask) (claim *runapi.Claim, err error) {
	first := false // of its workers
	var r *record
	err = s.db.step(ctx, func(t *tx) error {
		claim = nil
		now := time.Now()
		var condition string
		var args []any
		if len(c.projects) > 0 {
			var projects string
			if condition, projects, err = t.oneOf(c.tenant, "project", c.uses); err != nil || condition == "" {
				return err
			}
			args = append(args, projects)
		}
		if c.tenant != everyTenant {
			// A person's worker neither shows nor does what another person is to approve: it could show and do anything.
			condition += " AND tenant = ? AND NOT (requested_person = ? AND (? = 1 OR previewing = 1 OR approved_by <> ''))" +
				" AND approved_by <> ?"
			always := 0
			if s.options.RequireApproval {
				always = 1
			}
			args = append(args, c.tenant, c.person, always, c.person)
		}
		r, err = t.firstReady(c.tenant, ask.Labels, condition, args)
		if r == nil || err != nil {
			return err
		}
		secret := newSecret()
		r.State, r.Worker, r.token = runapi.Running, ask.Worker, hashOf(secret)
		r.Attempt++
		began := r.Began
		if first = began.IsZero(); first {
			began = now
		}
		n, err := t.exec("UPDATE husk_runs SET state = 'running', ready = 0, worker = ?, attempt = ?, token = ?, worker_token = ?, lease = "+t.now()+" + ?, began = ? WHERE id = ? AND state = 'queued'",
			r.Worker, r.Attempt, r.token, c.hash, s.options.Lease.Milliseconds(), millis(began), r.ID)
		if err != nil || n == 0 {
			return err
		}
		r.Began = began
		if err := s.hold(t, r); err != nil {
			return err
		}
		var unsettled int
		if !s.options.RetryPending {
			if err := t.row("SELECT count(*) FROM husk_runs WHERE state IN ('queued', 'running', 'waiting') AND tenant = ? AND project = ? AND stack = ? AND (attention = 1 OR id = ? AND lost <> '')",
				r.tenant, r.Project, r.Stack, r.ID).Scan(&unsettled); err != nil {
				return err
			}
		}
		claim = &runapi.Claim{StopOnPending: unsettled > 0, Run: r.Run, Team: r.tenant, Token: secret, Withheld: r.withheld, Next: r.lines - r.said + 1, BeatSeconds: (s.options.Lease / 3).Seconds()}
		if claim.StopOnPending && r.Operation == "up" && !r.Previewing {
			claim.Options = append(slices.Clone(claim.Options), "--stop-on-pending") // which workers of earlier versions pass on as well
		}
		claim.Plan, err = t.content(planCopies, "plan", "husk_runs WHERE id = ?", r.ID)
		return err
	})
	if conflict(err) {
		return nil, nil // another worker was first with a run of the same stack
	}
	if err != nil || claim == nil {
		return nil, err
	}
	if first {
		s.counts.wait(claim.Began.Sub(claim.Made))
		s.traceWait(&claim.Run)
	}
	s.changed.tell(claim.ID)
	err = s.remember(ctx, r)
	var full *intake.FullError
	if errors.As(err, &full) {
		err = errors.Join(err, s.putBack(context.WithoutCancel(ctx), r))
	}
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// planCopies is how often a plan is in memory when it is handed out: it is loaded, and encoded as base64 in a growing buffer.
const planCopies = 5

// putBack queues a run again that a worker was to have, and has not got.
func (s *Server) putBack(ctx context.Context, r *record) error {
	err := s.db.step(ctx, func(t *tx) error {
		if err := t.lockStack(r); err != nil {
			return err
		}
		is, err := t.run(r.tenant, r.ID)
		if err != nil || is.State != runapi.Running || is.token != r.token {
			return err // it was lost meanwhile
		}
		is.State = runapi.Queued
		is.Attempt--
		return t.leave(is, "", nil, tryAfter)
	})
	s.changed.tell(r.ID)
	return err
}

// hold has a run begin with the preview that is to be approved, if the server wants that: it may have been queued, or taken
// by a worker that was lost, before the server was started with that option.
func (s *Server) hold(t *tx, r *record) error {
	if !s.options.RequireApproval || r.Approval || !r.Changes() {
		return nil
	}
	r.Approval, r.Previewing = true, true
	request, err := json.Marshal(r.NewRun)
	if err != nil {
		return err
	}
	if _, err := t.exec("UPDATE husk_runs SET request = ?, previewing = 1 WHERE id = ?", string(request), r.ID); err != nil {
		return err
	}
	return t.say(r, "The server has been started with --require-approval since this was asked for: it is previewed first.")
}

// remember notes the state that the preview of a run is about to read, if the run is to be approved: it must find that.
func (s *Server) remember(ctx context.Context, r *record) error {
	if !r.Previewing {
		return nil
	}
	seen, err := s.stateOf(ctx, r)
	var full *intake.FullError
	if errors.As(err, &full) && !full.Never {
		return err
	}
	if err != nil {
		slog.Warn("the state of a stack could not be read before a preview, which cannot be approved then", "run", r.ID, "error", err)
		seen = seenUnknown
	}
	return s.see(ctx, r, seen)
}

func (s *Server) see(ctx context.Context, r *record, seen string) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE husk_runs SET seen = ? WHERE id = ? AND attempt = ?", seen, r.ID, r.Attempt)
		return err
	})
}

// stateOf returns the digest of all of the state of a run's stack, or seenNothing if there is none here.
func (s *Server) stateOf(ctx context.Context, r *record) (string, error) {
	t, err := s.tenant(ctx, r.tenant)
	if err != nil {
		return "", err
	}
	const copies = 2 // one is the database's
	bounded := intake.WithRoom(ctx, func(bytes int64) error { return intake.Room(ctx, copies*bytes) })
	c, err := t.backend.State.Load(bounded, state.StackName{Project: r.Project, Name: r.Stack})
	if errors.Is(err, state.ErrStackNotFound) {
		return seenNothing, nil
	}
	if err != nil {
		return "", err
	}
	return digestOf(c.Sequence, c.Checkpoint, c.Records...), nil
}

// digestOf returns the digest of a state: of a checkpoint, and of the records after it.
func digestOf(sequence uint64, checkpoint []byte, records ...[]byte) string {
	sum := sha256.New()
	part := func(content []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(content)))
		sum.Write(size[:])
		sum.Write(content)
	}
	part(binary.BigEndian.AppendUint64(nil, sequence))
	part(checkpoint)
	for _, record := range records {
		part(record)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// created notes the state of a stack that a run has made: the run may begin with that.
func (s *Server) created(ctx context.Context, r *record, checkpoint []byte) error {
	if r.seen != seenNothing {
		return nil
	}
	return s.see(ctx, r, digestOf(0, checkpoint))
}

// leased returns an error if a run that was approved has got the lease of a stack which is not as the preview saw it. Once
// it is, the run changes it itself, and may go on where another worker ended.
func (s *Server) leased(ctx context.Context, r *record) error {
	if r.seen == seenAny || r.Previewing {
		return nil
	}
	is, err := s.stateOf(ctx, r)
	if err != nil {
		return err
	}
	if is != r.seen {
		return fmt.Errorf("the stack %s was changed after the preview that %s has approved: ask for the run %s again", r.Stack, r.ApprovedBy, r.Operation)
	}
	return s.see(ctx, r, seenAny)
}
