package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

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
	// said are the lines of the log that are the server's own: workers number theirs without them.
	said int64
	// worker is the hash of the token that the run's worker has asked with, empty if that was before it was noted.
	workerToken string
	// size is about how many bytes it takes, of which request are those of its request.
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
}

// smallRequest bounds a request that is read before it is known how large it is, in bytes. Options make few larger.
const smallRequest = 16 << 10

var columns = fmt.Sprintf("id, tenant, project, stack, CASE WHEN octet_length(request) <= %d THEN request ELSE '' END, octet_length(request), ", smallRequest) +
	"selector, " + stateColumn + ", previewing, requested_by, requested_projects, approved_by, worker, attempt, token, worker_token, lease, cancel, cancel_call, lines, said, logged, tries, requested_person, seen, withheld, lost, reason, made, began, ended"

// stateColumn is the state of a run. One that needs attention waits, and is told apart by a column of its own.
const stateColumn = "CASE WHEN attention = 1 THEN 'attention' ELSE state END"

// What a run has seen, if it is not the digest of a state: seenAny may begin at any state, seenNothing has found no stack, and
// seenUnknown may begin at none.
const seenAny, seenNothing, seenUnknown = "", "nothing", "unknown"

// scanRun reads a run, nil if there is none. It is to be decoded.
func scanRun(scan func(...any) error) (*record, error) {
	r := &record{}
	var projects string
	var previewing, withheld int
	var lease, made, began, ended int64
	err := scan(&r.ID, &r.tenant, &r.Project, &r.Stack, &r.text, &r.request, &r.selector, &r.State, &previewing, &r.By, &projects, &r.ApprovedBy,
		&r.Worker, &r.Attempt, &r.token, &r.workerToken, &lease, &r.cancel, &r.cancelCall, &r.lines, &r.said, &r.logged, &r.tries, &r.Person, &r.seen, &withheld, &r.lost, &r.Reason, &made, &began, &ended)
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

// runOf returns the run that an ID of a caller names: one of its team, and of a project that it may use. The ID of any other
// run is that of none. find is [tx.run], or a function that does not keep others from changing it.
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
			}, "SELECT number, "+columns+" FROM husk_runs WHERE "+condition+" AND number < ? ORDER BY number DESC LIMIT ?", append(slices.Clone(args), before, page)...); err != nil {
				return err
			}
			for _, r := range found {
				if err := t.decode(r); err != nil {
					return err
				}
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
	err = s.db.step(ctx, func(t *tx) error {
		lines, more = nil, false
		bytes := 0
		if r, err = t.runOf(c, id, t.peek); err != nil {
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
