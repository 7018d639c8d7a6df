package server

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// record is a run as it is in the database.
type record struct {
	runapi.Run
	tenant, selector string
	// projects are the patterns of the token that asked for the run.
	projects []string
	token    string
	lease    time.Time
	cancel   int
	// cancelCall is the ID of the last call that has cancelled the run, empty for none.
	cancelCall string
	// lines is the number of the last line, and logged how many bytes of the log are kept.
	lines, logged int64
	// kept is how many of its bytes count in the size of its team: see [tx.keep].
	kept int64
	// said are the lines of the log that are the server's own: workers number theirs without them.
	said int64
	// worker is the hash of the token that the run's worker has asked with, empty if that was before it was noted.
	workerToken string
	// size is about how many bytes it takes. request is its request's part.
	size, request int
	// text is its request until it is decoded, if that is small.
	text string
	// tries is how often its stack was not to be had.
	tries int
	// seen is the state that the preview has read, which the approved run must find: see [Server.remember].
	seen string
	// withheld says that the run may not have secrets decrypted: who asked for it may only preview.
	withheld bool
	// lost is the hash of the token of the last worker that was lost with the run, or has lost its stack, empty if what it has made
	// does not matter: see [Server.settle].
	lost string
	// cancelled are the runs that the request for it has cancelled: see [tx.makeWay].
	cancelled []*record
}

// smallRequest bounds a request that is read before it is known how large it is, in bytes. Options make few larger.
const smallRequest = 16 << 10

var columns = fmt.Sprintf("id, tenant, project, stack, CASE WHEN octet_length(request) <= %d THEN request ELSE '' END, octet_length(request), ", smallRequest) +
	"selector, " + stateColumn + ", previewing, requested_by, requested_projects, approved_by, worker, attempt, token, worker_token, lease, cancel, cancel_call, lines, said, logged, tries, requested_person, seen, withheld, lost, kept, reason, made, began, ended"

// stateColumn is the state of a run. One that needs attention waits, and is told apart by a column of its own.
const stateColumn = "CASE WHEN attention = 1 THEN 'attention' ELSE state END"

// Special values for the digest of the state that a run has seen: with seenAny it may begin at any state, with seenNothing it has
// found no stack, and with seenUnknown it may begin at none.
const seenAny, seenNothing, seenUnknown = "", "nothing", "unknown"

// scanRun reads a run, nil if there is none. It is to be decoded.
func scanRun(scan func(...any) error) (*record, error) {
	r := &record{}
	var projects string
	var previewing, withheld int
	var lease, made, began, ended int64
	err := scan(&r.ID, &r.tenant, &r.Project, &r.Stack, &r.text, &r.request, &r.selector, &r.State, &previewing, &r.By, &projects, &r.ApprovedBy,
		&r.Worker, &r.Attempt, &r.token, &r.workerToken, &lease, &r.cancel, &r.cancelCall, &r.lines, &r.said, &r.logged, &r.tries, &r.Person, &r.seen, &withheld, &r.lost, &r.kept, &r.Reason, &made, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.size = r.request + len(r.Reason)
	r.withheld = withheld != 0
	r.Previewing, r.lease, r.Made, r.Began, r.Ended = previewing != 0, timeOf(lease), timeOf(made), timeOf(began), timeOf(ended)
	return r, json.Unmarshal([]byte(projects), &r.projects)
}

// decode decodes the request of a run. A large one is loaded once there is room for it.
func (t *tx) decode(r *record) error {
	text := []byte(r.text)
	if r.text = ""; r.request > smallRequest {
		var err error
		if text, err = t.content(rowCopies, "request", "husk_runs WHERE id = ?", r.ID); err != nil {
			return err
		}
	}
	return json.Unmarshal(text, &r.NewRun)
}

// runWhere returns the run of a condition, nil if there is none.
func (t *tx) runWhere(condition string, args ...any) (*record, error) {
	r, err := scanRun(t.row("SELECT "+columns+" FROM husk_runs WHERE "+condition, args...).Scan)
	if r == nil || err != nil {
		return nil, err
	}
	return r, t.decode(r)
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

// runOf returns the run that an ID of a caller names: one of its team, and of a project that it may use. The ID of any other run
// is treated as unknown. find is [tx.run], or a function that does not keep others from changing it.
func (t *tx) runOf(c *caller, id string, find func(tenant, id string) (*record, error)) (*record, error) {
	r, err := find(c.tenant, id)
	if err == nil && (r == nil || !c.uses(r.Project)) {
		err = t.noRun(id)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// peek returns a run of a tenant as it is now, nil if there is none.
func (t *tx) peek(tenant, id string) (*record, error) {
	return t.runWhere("id = ? AND tenant = ?", id, tenant)
}

// known returns the run that an ID of a caller names, nil if there is none. An ID that others have used is refused, and
// nothing is said of their run.
func (t *tx) known(c *caller, id string) (*record, error) {
	r, err := t.runOf(c, id, t.peek)
	var none *refusal
	if !errors.As(err, &none) {
		return r, err
	}
	if none.hides {
		return nil, &refusal{status: http.StatusConflict, reason: "the ID of the run is in use: choose another", hides: true}
	}
	return nil, nil
}

// noRun is the refusal of a run that the caller does not see. That it is there is said in the log of the server only.
func (t *tx) noRun(id string) error {
	var n int
	if err := t.row("SELECT count(*) FROM husk_runs WHERE id = ?", id).Scan(&n); err != nil {
		return err
	}
	return &refusal{status: http.StatusNotFound, reason: fmt.Sprintf("there is no run %s: husk remote ls lists them", id), hides: n > 0}
}

// runs returns the runs that a caller may see, the newest first.
func (s *Server) runs(ctx context.Context, c *caller, project, stack string, open bool, most int) (all []runapi.Run, err error) {
	// Requests have options, which may be long: there are fewer runs then.
	const page, largest, largestBytes = 100, 1000, 8 << 20
	most = min(most, largest)
	bytes := 0
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
	newest := " AND number < ? ORDER BY number DESC"
	if ofStack := project != "" && stack != ""; ofStack != open {
		newest = " AND -number > -CAST(? AS bigint) ORDER BY -number" // as the index has them that no other question is to use
	}
	all = []runapi.Run{}
	// Those of other projects are left out after they are read, so it goes on until there are enough.
	for before, more := int64(math.MaxInt64), true; more && len(all) < most && bytes < largestBytes; {
		read := 0
		err := s.db.step(ctx, func(t *tx) error {
			var found []*record
			if err := t.rows(func(scan func(...any) error) error {
				read++
				r, err := scanRun(func(into ...any) error { return scan(append([]any{&before}, into...)...) })
				if err != nil || !c.uses(r.Project) || len(all)+len(found) == most || bytes >= largestBytes {
					return err
				}
				found, bytes = append(found, r), bytes+r.size
				return intake.Room(ctx, rowCopies*int64(smallRow+len(r.text)+len(r.Reason)))
			}, "SELECT number, "+columns+" FROM husk_runs WHERE "+condition+newest+" LIMIT ?", append(slices.Clone(args), before, page)...); err != nil {
				return err
			}
			for _, r := range found {
				if err := t.decode(r); err != nil {
					return err
				}
			}
			if err := s.explain(t, found...); err != nil {
				return err
			}
			for _, r := range found {
				all = append(all, r.Run)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		more = read == page
	}
	return all, nil
}

// errEnough ends a query.
var errEnough = errors.New("these are enough")

// log returns a run with lines of its log after a number, and whether there are more of them than are to be in memory at once.
func (s *Server) log(ctx context.Context, c *caller, id string, after int64) (r *record, lines []runapi.Line, more bool, err error) {
	const page, pageBytes = 500, 1 << 20
	err = s.db.alone(ctx, func(t *tx) error { // the run comes first: one that has ended has all of its lines
		lines, more = nil, false
		bytes := 0
		if r, err = t.runOf(c, id, t.peek); err == nil {
			err = s.explain(t, r)
		}
		if err != nil {
			return err
		}
		err := t.rows(func(scan func(...any) error) error {
			if more = len(lines) == page || bytes > pageBytes; more {
				return errEnough
			}
			var l runapi.Line
			var at int64
			if err := scan(&l.Number, &l.Stream, &at, &l.Text); err != nil {
				return err
			}
			l.Time = timeOf(at)
			lines, bytes = append(lines, l), bytes+len(l.Text)
			return nil
		}, "SELECT number, stream, time, text FROM husk_lines WHERE run = ? AND number > ? ORDER BY number LIMIT ?", id, after, page+1)
		if more && errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
	return r, lines, more, err
}

// worker is one that is connected, or several that can take the same runs.
type worker struct {
	tenant string
	// person is the [identity.PersonKey] of who has its token.
	person   string
	labels   map[string]string
	projects []string
}

// workers are workers by each of their labels, as NAME=VALUE, and all of them by "".
type workers map[string][]*worker

// workers returns the connected workers of a tenant, or of all: workers that called lately, and workers with a run, because they
// may ask for no other meanwhile. With a label it returns the workers that have it.
func (t *tx) workers(tenant, label string) (workers, error) {
	condition, args := "(seen > ? OR name IN (SELECT worker FROM husk_runs WHERE state = 'running'))", []any{millis(t.Now().Add(-present))}
	if tenant != everyTenant {
		condition, args = condition+" AND tenant IN (?, ?)", append(args, tenant, everyTenant)
	}
	if name, value, ok := strings.Cut(label, "="); ok {
		contains := "INSTR"
		if t.postgres {
			contains = "STRPOS"
		}
		condition, args = condition+" AND "+contains+"(labels, ?) > 0", append(args, fmt.Sprintf("%q:%q", name, value)) // as JSON has it
	}
	if err := t.room("SELECT COALESCE(SUM(octet_length(labels) + octet_length(projects) + ?), 0) FROM husk_workers WHERE "+condition, append([]any{smallRow}, args...)...); err != nil {
		return nil, err
	}
	all := workers{}
	return all, t.rows(func(scan func(...any) error) error {
		one, labels, projects := &worker{}, "", ""
		err := scan(&one.tenant, &one.person, &labels, &projects)
		if err == nil {
			err = errors.Join(json.Unmarshal([]byte(labels), &one.labels), json.Unmarshal([]byte(projects), &one.projects))
		}
		one.person = identity.PersonKey(one.person)
		all[""] = append(all[""], one)
		for name, value := range one.labels {
			all[name+"="+value] = append(all[name+"="+value], one)
		}
		return err
	}, "SELECT DISTINCT tenant, person, labels, projects FROM husk_workers WHERE "+condition, args...)
}

// can reports whether one of the workers can take a run of a tenant's project, with a selector. may says whether one of a person may.
func (w workers) can(tenant, project, selector string, may func(person string) bool) bool {
	return slices.ContainsFunc(w[firstLabel(selector)], func(one *worker) bool {
		return (one.tenant == everyTenant || one.tenant == tenant) && may(one.person) && covers(one.projects, project) && selects(selector, one.labels)
	})
}

// firstLabel returns a label of a selector as NAME=VALUE, empty if it has none.
func firstLabel(selector string) string {
	for label := range labelsIn(selector) {
		return label
	}
	return ""
}

// explain says what runs of one tenant wait for.
func (s *Server) explain(t *tx, runs ...*record) error {
	queued := make(map[string]*record)
	var ids []string
	for _, r := range runs {
		switch r.State {
		case runapi.Queued:
			queued[r.ID], ids = r, append(ids, r.ID)
		case runapi.Waiting:
			r.WaitsFor = []runapi.Cause{{For: runapi.ForApproval, Text: "the approval of another person than " + cmp.Or(r.Person, r.By)}}
		case runapi.Attention:
			r.WaitsFor = []runapi.Cause{{For: runapi.ForAttention, Text: "somebody who looks: " + runapi.UnsettledReason}}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.explainWorkers(t, queued); err != nil {
		return err
	}
	load, err := s.load(t)
	if err != nil {
		return err
	}
	for _, r := range queued {
		if full := load.full(r.tenant, r.selector); full != "" {
			r.WaitsFor = append(r.WaitsFor, runapi.Cause{For: runapi.ForLimit, Text: full})
		}
	}
	of, list, err := t.list(ids)
	if err != nil {
		return err
	}
	const sameStack = "o.tenant = q.tenant AND o.project = q.project AND o.stack = q.stack"
	return t.rows(func(scan func(...any) error) error {
		var id string
		var other, state sql.NullString
		var later int64
		if err := scan(&id, &later, &other, &state); err != nil {
			return err
		}
		r := queued[id]
		switch {
		case other.Valid && state.String == string(runapi.Waiting):
			r.WaitsFor = append(r.WaitsFor, runapi.Cause{For: runapi.ForStack, Text: "the run " + other.String + " of the same stack, which is to be approved"})
		case other.Valid:
			r.WaitsFor = append(r.WaitsFor, runapi.Cause{For: runapi.ForStack, Text: "the run " + other.String + " of the same stack, which is " + state.String})
		case later > 0:
			r.WaitsFor = append(r.WaitsFor, runapi.Cause{For: runapi.ForLock, Text: "the lock of its stack, which another run has: it is tried again at " + timeOf(later).Format(time.RFC3339)})
		}
		return nil
	}, "SELECT q.id, CASE WHEN q.tries > 0 AND q.not_before > "+t.now()+" THEN q.not_before ELSE 0 END, o.id, o.state FROM husk_runs q LEFT JOIN husk_runs o ON o.number = COALESCE("+
		"(SELECT o.number FROM husk_runs o WHERE o.state = 'running' AND "+sameStack+"),"+
		" (SELECT o.number FROM husk_runs o WHERE o.state IN ('queued', 'running', 'waiting') AND o.attention = 0 AND o.number < q.number AND "+sameStack+" ORDER BY o.number LIMIT 1))"+
		" WHERE q.id"+of, list)
}

// explainWorkers says of queued runs of one tenant that no worker is connected that can take them. It looks for workers if none of this
// server waits for them.
func (s *Server) explainWorkers(t *tx, queued map[string]*record) error {
	var runs []*record
	labels := make(map[string]bool)
	for _, r := range queued {
		anybody := !s.options.RequireApproval && !r.Previewing && r.ApprovedBy == ""
		if anybody && s.db.ready.wants(wanted{r.tenant, r.Project, r.selector}) {
			continue
		}
		runs = append(runs, r)
		labels[firstLabel(r.selector)] = true
	}
	if len(runs) == 0 {
		return nil
	}
	label := "" // of several
	if len(labels) == 1 {
		label = firstLabel(runs[0].selector)
	}
	connected, err := t.workers(runs[0].tenant, label)
	for _, r := range runs {
		if !connected.can(r.tenant, r.Project, r.selector, s.mayHave(r)) {
			r.WaitsFor = append(r.WaitsFor, missing(r.selector))
		}
	}
	return err
}

// blocked counts the queued runs of all tenants that no worker takes now, by cause.
func (s *Server) blocked(t *tx) (map[string]int, error) {
	connected, err := t.workers(everyTenant, "")
	if err != nil {
		return nil, err
	}
	load, err := s.load(t)
	if err != nil {
		return nil, err
	}
	all := make(map[string]int)
	query := func(cause, condition string) string {
		return "SELECT tenant, project, selector, '" + cause + "', count(*) FROM husk_runs WHERE " + condition + " GROUP BY tenant, selector, project"
	}
	return all, t.rows(func(scan func(...any) error) error {
		var tenant, project, selector, cause string
		var n int
		if err := scan(&tenant, &project, &selector, &cause, &n); err != nil {
			return err
		}
		later := cause == runapi.ForLock
		switch {
		case !connected.can(tenant, project, selector, func(string) bool { return true }):
			cause = missing(selector).For
		case load.full(tenant, selector) != "":
			cause = runapi.ForLimit
		case later:
			all[runapi.ForStack] -= n
		}
		if !later || cause == runapi.ForLock {
			all[cause] += n
		}
		return nil
	}, query("", areReady)+" UNION ALL "+query(runapi.ForStack, "state = 'queued' AND ready = 0")+
		" UNION ALL "+query(runapi.ForLock, "state = 'queued' AND not_before > 0 AND not_before > "+t.now())) // which are among those before
}

// missing says which worker a run with a selector has none of.
func missing(selector string) runapi.Cause {
	if selector == "" {
		return runapi.Cause{For: runapi.ForWorker, Text: "a worker: none is connected that takes it"}
	}
	return runapi.Cause{For: runapi.ForLabels, Text: "a worker with " + strings.Join(slices.Collect(labelsIn(selector)), " and ") + ": none is connected that takes it"}
}

// mayHave returns whether a worker of a person's token may take a run, by the [identity.PersonKey]. One neither shows nor does what another
// person is to approve: it could show and do anything.
func (s *Server) mayHave(r *record) func(person string) bool {
	asker, approver := identity.PersonKey(r.Person), identity.PersonKey(r.ApprovedBy)
	needsNobody := !s.options.RequireApproval && !r.Previewing && r.ApprovedBy == ""
	return func(person string) bool { return approver != person && (asker != person || needsNobody) }
}
