package server

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// maxWorkers bounds the names under which the tokens of a team have asked for runs lately.
const maxWorkers = 10_000

// seen notes that a worker asks for runs.
func (s *Server) seen(ctx context.Context, c *caller, ask runapi.Ask) error {
	labels, err := json.Marshal(ask.Labels)
	if err != nil {
		return err
	}
	projects, err := json.Marshal(c.projects)
	if err != nil {
		return err
	}
	return s.db.alone(ctx, func(t *tx) error {
		n, err := t.exec("INSERT INTO husk_workers (tenant, name, labels, projects, person, slots, running, seen) SELECT ?, ?, ?, ?, ?, ?, ?, ?"+
			" WHERE EXISTS (SELECT 1 FROM husk_workers WHERE tenant = ? AND name = ?) OR (SELECT count(*) FROM husk_workers WHERE tenant = ?) < ?"+
			" ON CONFLICT (tenant, name) DO UPDATE SET labels = excluded.labels, projects = excluded.projects, person = excluded.person,"+
			" slots = excluded.slots, running = excluded.running, seen = excluded.seen",
			c.tenant, ask.Worker, string(labels), string(projects), c.person, ask.Slots, ask.Running, millis(t.Now()), c.tenant, ask.Worker, c.tenant, maxWorkers)
		if err == nil && n == 0 {
			err = refusef(http.StatusTooManyRequests, "%d workers of %s have asked for runs within a day: give a worker the same --name each time", maxWorkers, c.tenant)
		}
		return err
	})
}

// list returns the condition that what precedes it is one of some values, and its argument, which is one however many there are:
// databases bound arguments.
func (t *tx) list(values []string) (condition, arg string, err error) {
	text, err := json.Marshal(values)
	return " IN (SELECT value FROM " + t.each() + ")", string(text), err
}

// each is a table of the texts in the argument of [tx.list], whose column is one.value.
func (t *tx) each() string {
	if t.postgres {
		return "jsonb_array_elements_text(CAST(CAST(? AS text) AS jsonb)) one(value)"
	}
	return "json_each(?) one"
}

// firstOfStack is the condition for a queued run whose stack has no run at a worker, and none that waits and is older, unless
// that needs attention: a later run may settle it. The states of others are the ones in indexes.
const (
	ofStack      = " AND o.tenant = husk_runs.tenant AND o.project = husk_runs.project AND o.stack = husk_runs.stack"
	firstOfStack = "NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.state = 'running'" + ofStack + ")" +
		" AND NOT EXISTS (SELECT 1 FROM husk_runs o WHERE o.state IN ('queued', 'running', 'waiting') AND o.attention = 0 AND o.number < husk_runs.number" + ofStack + ")"
)

// areReady is the condition of an index, for the runs that are ready.
const areReady = "state = 'queued' AND ready > 0"

// choose returns the run that is next for a worker, with one of some selectors, nil if there is none: of the team whose turn it is,
// of the project whose turn it is in that team, the oldest. Teams and projects have turns in the order of their names.
func (s *Server) choose(t *tx, c *caller, selectors []string) (_ *record, err error) {
	teams := []string{c.tenant}
	if c.tenant == everyTenant {
		if teams, err = t.readyTeams(selectors); err != nil || len(teams) == 0 {
			return nil, err
		}
	}
	turns, err := t.turns(teams)
	if err != nil {
		return nil, err
	}
	load, err := s.load(t)
	if err != nil {
		return nil, err
	}
	whose := turns[everyTenant]
	for _, team := range whose.order(teams, s.options.Weights[whose.last]) {
		allowed := slices.DeleteFunc(slices.Clone(selectors), func(selector string) bool { return load.full(team, selector) != "" })
		if len(allowed) == 0 {
			continue
		}
		r, err := s.chooseOf(t, c, team, allowed, turns[team].last)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if c.tenant == everyTenant {
			if err := t.take(everyTenant, whose.next(team)); err != nil {
				return nil, err
			}
		}
		return r, t.take(team, turns[team].next(r.Project))
	}
	return nil, nil
}

// chooseOf returns the run of a team that is next for a worker, and has one of some selectors: of a project after the last one, if there is
// any.
func (s *Server) chooseOf(t *tx, c *caller, team string, selectors []string, last string) (*record, error) {
	// A person's worker, also one of all teams, neither shows nor does what another person is to approve: see [Server.mayHave]. Servers of
	// earlier versions note no keys of persons.
	const condition = " AND NOT (CASE WHEN asker = '' THEN lower(trim(requested_person)) ELSE asker END = ? AND (? = 1 OR previewing = 1 OR approved_by <> ''))" +
		" AND CASE WHEN approver = '' THEN lower(trim(approved_by)) ELSE approver END <> ?"
	always := 0
	if s.options.RequireApproval {
		always = 1
	}
	person := identity.PersonKey(c.person)
	args := []any{person, always, person}
	_, list, err := t.list(selectors)
	if err != nil {
		return nil, err
	}
	ready := areReady + " AND tenant = ? AND selector" + t.bytewise() + " = one.value"
	page, most := 16, 1024
	begins := []string{last, ""}
	if last == "" {
		begins = begins[:1]
	}
	for _, after := range begins {
		for more := true; more; {
			projects, err := t.texts("WITH RECURSIVE following (project) AS (SELECT CAST(? AS text) UNION ALL SELECT (SELECT min((SELECT project FROM husk_runs WHERE "+ready+
				" AND project > following.project ORDER BY project LIMIT 1)) FROM "+t.each()+") FROM following WHERE following.project IS NOT NULL)"+
				" SELECT project FROM following WHERE project IS NOT NULL LIMIT ? OFFSET 1", after, team, list, page)
			if err != nil {
				return nil, err
			}
			for _, project := range projects {
				if !c.uses(project) {
					continue
				}
				r, err := t.runWhere("number = (SELECT min((SELECT number FROM husk_runs WHERE "+ready+" AND project = ? AND not_before <= "+t.now()+condition+
					" AND "+firstOfStack+" ORDER BY number LIMIT 1)) FROM "+t.each()+")"+t.locked(), slices.Concat([]any{team, project}, args, []any{list})...)
				if r != nil || err != nil {
					return r, err
				}
			}
			if more = len(projects) == page; more {
				after, page = projects[page-1], min(4*page, most)
			}
		}
	}
	return nil, nil
}

// readyTeams returns the teams that have a run with one of some selectors that is ready.
func (t *tx) readyTeams(selectors []string) ([]string, error) {
	_, list, err := t.list(selectors)
	if err != nil {
		return nil, err
	}
	return t.texts("WITH RECURSIVE team (name) AS (SELECT CAST('' AS text) UNION ALL"+
		" SELECT (SELECT tenant FROM husk_runs WHERE "+areReady+" AND tenant > team.name ORDER BY tenant LIMIT 1) FROM team WHERE team.name IS NOT NULL)"+
		" SELECT name FROM team WHERE name <> '' AND EXISTS (SELECT 1 FROM "+t.each()+" WHERE EXISTS (SELECT 1 FROM husk_runs WHERE "+
		areReady+" AND tenant = team.name AND selector"+t.bytewise()+" = one.value))", list)
}

// turn is whose turn was last, of some that have turns, and how many in a row that was.
type turn struct {
	last  string
	taken int
}

// turns returns the turns of all teams, which is [everyTenant], and of the projects of some, and has other transactions wait that choose a
// run: limits hold for all of them together.
func (t *tx) turns(teams []string) (map[string]turn, error) {
	of, list, err := t.list(append([]string{everyTenant}, teams...))
	if err != nil {
		return nil, err
	}
	lock := ""
	if t.postgres {
		lock = " FOR UPDATE"
	}
	all := make(map[string]turn)
	return all, t.rows(func(scan func(...any) error) error {
		var of string
		var one turn
		err := scan(&of, &one.last, &one.taken)
		all[of] = one
		return err
	}, "SELECT of, last, taken FROM husk_turns WHERE of"+of+" ORDER BY of"+lock, list)
}

// order returns names in the order in which they have turns. The last one has another turn first as long as it has not taken as many in a
// row as it weighs.
func (w turn) order(names []string, weight int) []string {
	names = slices.Sorted(slices.Values(names))
	i, is := slices.BinarySearch(names, w.last)
	if is && w.taken >= max(weight, 1) {
		i++
	}
	return slices.Concat(names[i:], names[:i])
}

// next returns the turn after which a name has had one.
func (w turn) next(name string) turn {
	if name != w.last {
		w = turn{last: name}
	}
	w.taken++
	return w
}

// take notes a turn.
func (t *tx) take(of string, one turn) error {
	_, err := t.exec("INSERT INTO husk_turns (of, last, taken) VALUES (?, ?, ?) ON CONFLICT (of) DO UPDATE SET last = excluded.last, taken = excluded.taken", of, one.last, one.taken)
	return err
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

// load is how many runs are at workers, as far as there are limits of them.
type load struct {
	// limits are [Options.MaxRuns], and running counts by the same names.
	limits, running map[string]int
}

// load counts the runs that are at workers. It reads nothing if there are no limits.
func (s *Server) load(t *tx) (*load, error) {
	l := &load{s.options.MaxRuns, map[string]int{}}
	if len(l.limits) == 0 {
		return l, nil
	}
	return l, t.rows(func(scan func(...any) error) error {
		var tenant, selector string
		var n int
		err := scan(&tenant, &selector, &n)
		l.add(tenant, selector, n)
		return err
	}, "SELECT tenant, selector, count(*) FROM husk_runs WHERE state = 'running' GROUP BY tenant, selector")
}

// add counts runs of a tenant with a selector.
func (l *load) add(tenant, selector string, runs int) {
	l.running[tenant] += runs
	for label := range labelsIn(selector) {
		l.running[label] += runs
	}
}

// full returns the limit that keeps another run of a tenant, with a selector, from a worker: empty if none does.
func (l *load) full(tenant, selector string) string {
	most, is := l.limits[tenant]
	if !is {
		most, is = l.limits[everyTenant]
	}
	if is && l.running[tenant] >= most {
		return fmt.Sprintf("one of %d runs of %s to end: no more of them go at once", most, tenant)
	}
	for label := range labelsIn(selector) {
		if most, is := l.limits[label]; is && l.running[label] >= most {
			return fmt.Sprintf("one of %d runs with %s to end: no more of them go at once", most, label)
		}
	}
	return ""
}

// claim gives a worker the run that is next for it, nil if there is none.
func (s *Server) claim(ctx context.Context, c *caller, ask runapi.Ask) (claim *runapi.Claim, err error) {
	// Most questions find nothing, for which nobody waits. Later runs wake the worker.
	var selectors []string
	err = s.db.alone(ctx, func(t *tx) (err error) {
		selectors, err = t.selectors(c.tenant, ask.Labels)
		return err
	})
	if err != nil || len(selectors) == 0 {
		return nil, err
	}
	for {
		var r *record
		claim, r, err = s.claimOf(ctx, c, ask, selectors)
		var lacks *lack
		if !errors.As(err, &lacks) {
			return claim, err
		}
		if err := s.dismiss(ctx, r); err != nil {
			return nil, err
		}
	}
}

// claimOf is claim among the runs with some selectors. The error is a [lack] if the next run does not begin, and is to be dismissed.
func (s *Server) claimOf(ctx context.Context, c *caller, ask runapi.Ask, selectors []string) (claim *runapi.Claim, r *record, err error) {
	first := false // of its workers
	err = s.db.step(ctx, func(t *tx) error {
		claim = nil
		now := t.Now()
		r, err = s.choose(t, c, selectors)
		if r == nil || err != nil {
			return err
		}
		secret := newSecret(runPrefix)
		r.State, r.Worker, r.token = runapi.Running, ask.Worker, hashOf(secret)
		r.Attempt++
		began := r.Began
		if first = began.IsZero(); first {
			began = now
		}
		unsettled := 0
		var of standing
		err := t.row("UPDATE husk_runs SET state = 'running', ready = 0, worker = ?, attempt = ?, token = ?, worker_token = ?, lease = "+t.now()+" + ?, began = ?,"+
			" shower = CASE WHEN approved_by = '' THEN ? ELSE shower END WHERE id = ? AND state = 'queued'"+
			" RETURNING (SELECT count(*) FROM husk_runs o WHERE o.attention = 1"+ofStack+"), "+standingColumns,
			r.Worker, r.Attempt, r.token, c.hash, s.options.Lease.Milliseconds(), millis(began), identity.PersonKey(c.person), r.ID).Scan(append([]any{&unsettled}, of.into()...)...)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = s.begins(t, r, of)
		}
		if err != nil {
			return err
		}
		r.Began = began
		if err := s.hold(t, r); err != nil {
			return err
		}
		if unsettled > 0 && r.Changes() && !r.Previewing {
			// Those were approved on a state that is another one from now on.
			if _, err := t.exec("UPDATE husk_runs SET seen = ? WHERE tenant = ? AND project = ? AND stack = ? AND attention = 1 AND approved_by <> ''", seenUnknown, r.tenant, r.Project, r.Stack); err != nil {
				return err
			}
		}
		stop := !s.options.RetryPending && (r.lost != "" || unsettled > 0)
		claim = &runapi.Claim{StopOnPending: stop, Run: r.Run, Team: r.tenant, Token: secret, Withheld: r.withheld, Next: r.lines - r.said + 1, BeatSeconds: (s.options.Lease / 3).Seconds()}
		if claim.StopOnPending && r.Operation == "up" && !r.Previewing {
			claim.Options = append(slices.Clone(claim.Options), "--stop-on-pending") // which workers of earlier versions pass on as well
		}
		if r.ApprovedBy == "" {
			return nil
		}
		claim.Plan, err = t.content(planCopies, "content", "husk_plans WHERE run = ?", r.ID)
		return err
	})
	if conflict(err) {
		return nil, nil, nil // another worker was first with a run of the same stack
	}
	if err != nil || claim == nil {
		return nil, r, err
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
		return nil, nil, err
	}
	return claim, r, nil
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
