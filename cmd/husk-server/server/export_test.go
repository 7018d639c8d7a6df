package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/riverqueue/river"
)

// TestMain has the tests fail if SQLite answers a statement of theirs by reading all rows of a table that has many.
func TestMain(m *testing.M) {
	var executed statements
	sqlite3.AutoExtension(executed.of)
	code := m.Run()
	if slow := executed.slow(); len(slow) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: statements read more rows than they need:\n%s\n", strings.Join(slow, "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// statements are those that were executed with SQLite.
type statements struct {
	mu  sync.Mutex
	all map[string]bool
}

// of notes the statements of a connection.
func (s *statements) of(conn *sqlite3.Conn) error {
	return conn.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, text any) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all == nil {
			s.all = make(map[string]bool)
		}
		s.all[fmt.Sprint(text)] = true
		return nil
	})
}

var (
	// queries are statements that have a plan, but for those of [Server.Exec] and [Server.Count].
	queries = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\b.*\bhusk_(runs|lines|bundles|audit)\b`)
	// scans are steps of a plan that read all rows of a table or an index, or sort what they have read.
	scans = regexp.MustCompile(`^SCAN (husk_(runs|lines|bundles|audit)|[a-z])\b|^USE TEMP B-TREE FOR (GROUP|ORDER|DISTINCT)`)
	// few are such steps whose index has only the runs at workers.
	few = regexp.MustCompile(`^SCAN \w+ USING (COVERING )?INDEX husk_runs_(one|token|lease)$`)
)

// mayScan has the beginnings of statements that may, with the reason.
var mayScan = map[string]string{
	"SELECT tenant, state, attention, count(*)":                                "metrics count the runs that are not final, by an index that has nothing else",
	"SELECT tenant, project, selector, '":                                      "so they do the runs that wait for something",
	"SELECT tenant, selector, count(*) FROM husk_runs WHERE state = 'running'": "runs at workers are few",
	"SELECT DISTINCT tenant, person, labels, projects FROM husk_workers":       "workers are few",
	"SELECT tenant FROM husk_audit WHERE action = 'refused' GROUP BY":          "refusals of a team are few, and this is asked once an hour",
	"UPDATE husk_runs SET lease = CASE":                                        "runs at workers are few, and this is for a clock that was set",
}

// slow returns the statements whose plans read all rows.
func (s *statements) slow() (slow []string) {
	dir, err := os.MkdirTemp("", "plans")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	d, err := openDB(context.Background(), "", dir)
	if err != nil {
		return []string{err.Error()}
	}
	defer d.Close()
	for _, statement := range slices.Sorted(maps.Keys(s.all)) {
		if !queries.MatchString(statement) || strings.Contains(statement, "sqlite_") {
			continue
		}
		plan, err := d.plan(statement)
		if err != nil {
			slow = append(slow, fmt.Sprintf("%s\n\t%v", statement, err))
		}
		for _, step := range plan {
			if scans.MatchString(step) && !few.MatchString(step) && !mayScanFor(statement) {
				slow = append(slow, statement+"\n\t"+strings.Join(plan, "\n\t"))
				break
			}
		}
	}
	return slow
}

func mayScanFor(statement string) bool {
	for begin := range mayScan {
		if strings.HasPrefix(statement, begin) {
			return true
		}
	}
	return false
}

// plan returns the steps of the plan of a statement.
func (d *db) plan(statement string) (steps []string, err error) {
	return steps, d.step(context.Background(), func(t *tx) error {
		return t.rows(func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		}, "EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
	})
}

// LookAgain looks at the token of each request again once its body has come, however soon.
func (s *Server) LookAgain() { s.slow = 0 }

// Take takes memory that a team may have, until the caller calls give.
func (s *Server) Take(team string, bytes int64) (give func()) {
	held := s.memory.Hold(team)
	if err := held.Add(bytes); err != nil {
		panic(err)
	}
	return held.End
}

// TakeConnections takes all connections to the database, until the caller calls give.
func (s *Server) TakeConnections(ctx context.Context) (give func()) {
	var all []*sql.Conn
	for range s.db.Stats().MaxOpenConnections {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			panic(err)
		}
		all = append(all, conn)
	}
	return func() {
		for _, conn := range all {
			_ = conn.Close()
		}
	}
}

// Exec changes the database.
func (s *Server) Exec(ctx context.Context, statement string, args ...any) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec(ofTest+statement, args...)
		return err
	})
}

// ofTest is before statements of tests themselves.
const ofTest = "/* test */ "

// Away has leases of runs and the time that is counted be as if the database had been away for a time, and its clock had gone on, or
// had been set back if the time is negative.
func (s *Server) Away(ctx context.Context, long time.Duration) error {
	return s.db.step(ctx, func(t *tx) error {
		for _, statement := range []string{"UPDATE husk_counted SET at = at - ?", "UPDATE husk_runs SET lease = lease - ? WHERE state = 'running'"} {
			if _, err := t.exec(ofTest+statement, long.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Count returns the number that a query gives.
func (s *Server) Count(ctx context.Context, query string, args ...any) (n int, err error) {
	return n, s.db.step(ctx, func(t *tx) error { return t.row(ofTest+query, args...).Scan(&n) })
}

// MakeEarlier makes the tables of an earlier version, the first of which is 1, and changes them.
func MakeEarlier(ctx context.Context, o Options, version int, statements ...string) error {
	all := changes
	changes, schemaVersion = all[:version], version
	defer func() { changes, schemaVersion = all, len(all) }()
	d, err := openDB(ctx, o.Database, o.Dir)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, one := d.ExecContext(ctx, statement); one != nil {
			err = errors.Join(err, one)
		}
	}
	return errors.Join(err, d.Close())
}

// Upgrade changes the tables as a server of a later version does that starts, and has these changes as well.
func Upgrade(ctx context.Context, o Options, more ...string) error {
	all := changes
	changes, schemaVersion = append(slices.Clone(all), more...), len(all)+len(more)
	defer func() { changes, schemaVersion = all, len(all) }()
	d, err := openDB(ctx, o.Database, o.Dir)
	if err != nil {
		return err
	}
	return d.Close()
}

// PruneAudit removes what the audit log does not keep.
func (s *Server) PruneAudit(ctx context.Context) error { return s.pruneAudit(ctx, time.Now()) }

// WaitForLoops waits until the server does nothing by itself.
func (s *Server) WaitForLoops() { s.looking.Wait() }

// CheckRoute makes a route that says nothing of itself.
func CheckRoute(pattern string) error {
	_, err := newRoute(pattern, route{})
	return err
}

// Prune removes what is old.
func (s *Server) Prune(ctx context.Context) error { return s.prune(ctx, time.Now()) }

// EndLater returns a function that ends the lease of the worker that has a run now, by the token of the run.
func (s *Server) EndLater(token string) func(context.Context) {
	var r *record
	if err := s.db.step(context.Background(), func(t *tx) (err error) {
		r, err = t.runWhere("token = ? AND state = 'running'", hashOf(token))
		return err
	}); err != nil {
		panic(err)
	}
	return func(ctx context.Context) { s.endLease(ctx, r) }
}

// Due sets the next time of a schedule to now, and adds its timer.
func (s *Server) Due(ctx context.Context, tenant, name string) error {
	return s.due(ctx, tenant, name, func(t *tx, args scheduleArgs, last string) error {
		return s.plan(ctx, t, args, s.db.Now().Add(-time.Second), last, "")
	})
}

// Begin does what a timer of a schedule does, as some servers that have it at once, and then another.
func (s *Server) Begin(ctx context.Context, tenant, name string) error {
	var timer scheduleArgs
	if err := s.due(ctx, tenant, name, func(t *tx, args scheduleArgs, _ string) error {
		timer = args
		timer.At = millis(s.db.Now().Add(-time.Second))
		_, err := t.exec("UPDATE husk_schedules SET next = ? WHERE tenant = ? AND name = ?", timer.At, tenant, name)
		return err
	}); err != nil {
		return err
	}
	errs := make([]error, 4)
	var working sync.WaitGroup
	work := func(err *error) { *err = (&scheduler{s: s}).Work(ctx, &river.Job[scheduleArgs]{Args: timer}) }
	for i := range errs[1:] {
		working.Go(func() { work(&errs[i]) })
	}
	working.Wait()
	work(&errs[len(errs)-1])
	return errors.Join(errs...)
}

func (s *Server) due(ctx context.Context, tenant, name string, do func(t *tx, args scheduleArgs, last string) error) error {
	return s.db.step(ctx, func(t *tx) error {
		args, last := scheduleArgs{Tenant: tenant, Name: name}, ""
		if err := t.row("SELECT version, last FROM husk_schedules WHERE tenant = ? AND name = ?", tenant, name).Scan(&args.Version, &last); err != nil {
			return err
		}
		return do(t, args, last)
	})
}

// StatusOf returns the status of an error that refuses something, 0 for another.
func StatusOf(err error) int {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	return 0
}

// PruneRefusals is for tests.
const PruneRefusals = pruneRefusals

// CountAgain has the sizes of all teams counted again.
func (s *Server) CountAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sizes)
}
