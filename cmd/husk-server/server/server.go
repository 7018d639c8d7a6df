// Package server queues runs of operations on stacks, hands them to workers, and keeps their logs and the states of their
// stacks. PostgreSQL, or a file of SQLite, is its only memory, so that several servers can share one database.
package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/husk-dev/husk/cmd/husk-server/dump"
	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/keyring"
	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/trace"
)

// Options are the options of [Open].
type Options struct {
	// Dir is the directory of the server's files: its key, and its databases unless there is another.
	Dir string
	// Database is the URL of a PostgreSQL database, empty for files of SQLite in Dir.
	Database string
	// RequireApproval has every run that changes something wait for the approval of somebody else.
	RequireApproval bool
	// RetryPending has a run that has lost its worker go on elsewhere also if that may have created something which is not
	// recorded, and may be created twice then.
	RetryPending bool
	// PreviewSecrets has previews decrypt secrets for those who may only preview.
	PreviewSecrets bool
	// Lease is how long a worker may be silent before its run goes on elsewhere; 0 stands for [DefaultLease].
	Lease time.Duration
	// Keep is how long ended runs and their logs are kept; 0 stands for [DefaultKeep].
	Keep time.Duration
	// KeepAudit is how long entries of the audit log are kept; 0 stands for [DefaultKeepAudit].
	KeepAudit time.Duration
	// Quota is how many bytes of states, modules, bundles, runs, logs, and entries of the audit log each tenant may keep, 0 for any.
	Quota int64
	// MaxRuns bounds how many runs are at workers at once: of a team by its name, of each team that has none by [EachTeam], and of the runs
	// that ask for a label by NAME=VALUE.
	MaxRuns map[string]int
	// Weights are how many runs of a team are taken for each run of another team; 1 for teams without a weight.
	Weights map[string]int
	// Memory is how many bytes all data received and sent at once may take, including its decoded form; 0 for half of the
	// process's memory limit.
	Memory int64
	// Trace gets a span for each run that has ended, and for its wait; nil for none.
	Trace *trace.Tracer
	// Collector gets metrics, nil for none.
	Collector *Collector
	// Metrics returns more metrics, nil for none.
	Metrics func() []telemetry.Metric
	// Identity says who gets tokens by logging in elsewhere, nil for nobody.
	Identity *identity.Config
	// Webhooks are the hooks by which hosts of repositories begin runs, nil for none.
	Webhooks *webhook.Config
	// Version is the version of the program.
	Version string
	// Passive has the server do nothing by itself: it removes nothing, takes no run from a worker, and begins none. A command that opens the
	// database of a server knows none of its other options.
	Passive bool
}

// EachTeam stands for each team in [Options.MaxRuns] that is not named there.
const EachTeam = everyTenant

// The defaults of [Options].
const (
	DefaultLease     = 30 * time.Second
	DefaultKeep      = 90 * 24 * time.Hour
	DefaultKeepAudit = 400 * 24 * time.Hour
)

// KeyVariable is the environment variable with the key that encrypts the keys of tenants: 64 hexadecimal digits. Without
// it, the key is in a file of the server's directory. While a key is replaced there are several: see [keyring.Source].
const KeyVariable = "HUSK_SERVER_KEY"

// Server is an [http.Handler]. It is to be closed.
type Server struct {
	options Options
	db      *db
	keys    keyring.Source
	states  *remote.Server
	timers  *river.Client[*sql.Tx]
	mux     *http.ServeMux
	counts  *counts
	// requests counts what handler answers.
	requests telemetry.Requests
	handler  http.Handler
	// changed wakes who follows the log of a run, by its ID, and revoked by the hash of the token.
	changed, revoked news
	// memory is the budget for data that teams send and get, and strangers the budget of who has shown no token.
	memory, strangers *intake.Budget
	// coming are the bodies of requests, and going the bodies of answers. After the time slow, the token of a request is looked at again.
	coming, going bodies
	slow          time.Duration
	watchers      watchers
	// large are the turns of large calls about states.
	large   turns
	closing chan struct{}
	once    sync.Once
	// looking are the loops of look, free, and mind.
	looking sync.WaitGroup
	// exporting is the loop of export, until exported is closed.
	exporting sync.WaitGroup
	exported  chan struct{}

	// refusals counts what [Server.auditRefusal] has added.
	refusals atomic.Int64

	mu      sync.Mutex
	tenants map[string]*tenant
	sizes   map[string]size
	open    map[string]counted
}

// Open opens a server.
func Open(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.KeepAudit == 0 {
		o.KeepAudit = DefaultKeepAudit
	}
	for name := range o.MaxRuns {
		label, value, is := strings.Cut(name, "=")
		if is && checkLabels(map[string]string{label: value}) != nil || !is && name != EachTeam && !runapi.IsTeam(name) {
			return nil, fmt.Errorf("the limit of %q: name a team, each team (%s), or a label as NAME=VALUE", name, EachTeam)
		}
	}
	for name := range o.Weights {
		if !runapi.IsTeam(name) {
			return nil, fmt.Errorf("the weight of %q: no team has this name", name)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	s := &Server{options: o, keys: keyring.Source{Variable: KeyVariable, File: filepath.Join(o.Dir, KeyFile)}, counts: newCounts(), closing: make(chan struct{}), exported: make(chan struct{}), tenants: make(map[string]*tenant), sizes: make(map[string]size), open: make(map[string]counted), slow: slowBody}
	if s.memory = intake.ProcessBudget(); o.Memory > 0 {
		s.memory = intake.NewBudget(o.Memory)
	}
	s.strangers = intake.NewBudget(ofStrangers)
	if err := s.keys.Make(); err != nil {
		return nil, err
	}
	if s.db, err = openDB(ctx, o.Database, o.Dir); err != nil {
		return nil, err
	}
	if err := s.checkKey(ctx); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	if s.mux, err = s.routes(); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.handler = s.requests.Handler(http.HandlerFunc(s.serve))
	s.states = remote.Handler(s.stateAccess, s.memory)
	if err := s.makeTimers(); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	if o.Passive {
		return s, nil
	}
	if err := s.db.step(ctx, func(t *tx) error { return t.count(s.options.Lease, 0) }); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	if err := s.timers.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.looking.Go(s.look)
	s.looking.Go(s.free)
	s.looking.Go(s.mind)
	if o.Collector != nil {
		s.exporting.Go(func() { s.export(o.Collector, s.exported) })
	}
	return s, nil
}

// Now returns the time by which tokens end.
func (s *Server) Now() time.Time { return s.db.Now() }

// Stop ends what waits: workers ask again, and logs are followed again.
func (s *Server) Stop() { s.once.Do(func() { close(s.closing) }) }

// Close ends everything in this process. Leases of stacks and runs are in the database: workers go on with their runs at another
// server, or at this one when it is started again.
func (s *Server) Close() error {
	s.Stop()
	s.looking.Wait()
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if !s.options.Passive {
		err = s.timers.Stop(ctx)
	}
	close(s.exported)
	s.exporting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tenants {
		t.backend.Close()
	}
	return errors.Join(err, s.db.Close())
}

// untilClosed returns a context that ends when the server stops.
func (s *Server) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// free gives memory back to the system once requests that have taken much of it have ended.
func (s *Server) free() {
	const interval, much = 5 * time.Second, 16 << 20
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for busy := false; ; {
		select {
		case <-s.closing:
			return
		case <-ticks.C:
		}
		if busy = busy || s.memory.Peak() >= much; busy && s.memory.InUse() < much {
			busy = false
			debug.FreeOSMemory()
		}
	}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(backend.AnswerHeader, backend.Answered)
	if err := checkText(r); err != nil {
		s.refuse(w, r, nil, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// stateFile is the file of a tenant's stacks with SQLite, and stateSchema their schema in PostgreSQL.
func (s *Server) stateFile(tenant string) string {
	return filepath.Join(s.options.Dir, "tenants", tenant+".db")
}

func stateSchema(tenant string) string { return "husk_" + tenant }

// openState opens the backend of a tenant's stacks.
func (s *Server) openState(ctx context.Context, tenant string) (*backend.Backend, error) {
	if !s.db.postgres {
		return sqlite.Open(ctx, sqlite.Scheme+"://"+filepath.ToSlash(s.stateFile(tenant)), "")
	}
	return postgres.OpenSchema(ctx, named.ByOperator(s.options.Database, "--database"), stateSchema(tenant), "")
}

// removeStates removes the tables of a team's stacks.
func (s *Server) removeStates(ctx context.Context, team string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.tenants[team]; kept != nil {
		kept.backend.Close()
		delete(s.tenants, team)
	}
	if s.db.postgres {
		_, err := s.db.ExecContext(ctx, `DROP SCHEMA IF EXISTS "`+stateSchema(team)+`" CASCADE`)
		return err
	}
	return removeDatabase(s.stateFile(team))
}

// removeDatabase removes a database of SQLite, if it exists.
func removeDatabase(file string) (err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if failed := os.Remove(file + suffix); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// openRaw begins a transaction of a tenant's stacks: with PostgreSQL the transaction own of the server's database, and with SQLite
// one of the stacks' file.
// The function end ends it, and the file.
func (s *Server) openRaw(ctx context.Context, own *sql.Tx, tenant string) (d dump.Database, schema string, end func(commit bool) error, err error) {
	b, err := s.openState(ctx, tenant)
	if err != nil {
		return d, "", nil, err
	}
	err = b.Check(ctx) // which makes the tables
	if b.Close(); err != nil {
		return d, "", nil, err
	}
	if s.db.postgres {
		return dump.Database{Tx: own, Postgres: true}, stateSchema(tenant), func(bool) error { return nil }, nil
	}
	file, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(s.stateFile(tenant)), RawQuery: "_pragma=foreign_keys(1)&_pragma=busy_timeout(15000)"}).String())
	if err != nil {
		return d, "", nil, err
	}
	begun, err := file.BeginTx(ctx, nil)
	if err != nil {
		return d, "", nil, errors.Join(err, file.Close())
	}
	return dump.Database{Tx: begun}, "", func(commit bool) error {
		if commit {
			return errors.Join(begun.Commit(), file.Close())
		}
		_ = begun.Rollback()
		return file.Close()
	}, nil
}

// Export writes all data of the server, except its key. With PostgreSQL it is a snapshot, also if other servers serve.
func (s *Server) Export(ctx context.Context, w io.Writer) error {
	options := &sql.TxOptions{}
	if s.db.postgres {
		options.Isolation, options.ReadOnly = sql.LevelRepeatableRead, true
	}
	own, err := s.db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = own.Rollback() }() // it has changed nothing
	t := &tx{ctx: ctx, querier: own, begun: own, postgres: s.db.postgres}
	names, err := t.texts("SELECT name FROM husk_tenants WHERE ended = 0 ORDER BY name")
	if err != nil {
		return err
	}
	out, err := dump.NewWriter(w, schemaVersion)
	if err != nil {
		return err
	}
	for _, name := range names {
		from, schema, end, err := s.openRaw(ctx, own, name)
		if err != nil {
			return err
		}
		if err := errors.Join(out.WriteStacks(ctx, from, schema, name), end(false)); err != nil {
			return err
		}
	}
	return errors.Join(out.WriteServer(ctx, dump.Database{Tx: own, Postgres: s.db.postgres}), out.Close())
}

// Import reads what [Server.Export] wrote, into a database that is empty: all of it, or nothing.
func (s *Server) Import(ctx context.Context, r io.Reader) (err error) {
	var ends []func(bool) error
	var made []string // teams that had no tables for stacks
	tables := make(map[string][]string)
	err = s.db.step(ctx, func(t *tx) error {
		own := dump.Database{Tx: t.begun, Postgres: t.postgres}
		if err := own.Clear(ctx); err != nil {
			return err
		}
		var last, schema string
		var stacks dump.Database
		if err := dump.Read(r, schemaVersion, func(team, table string, columns []string) (func([]any) error, error) {
			if team != "" && !runapi.IsTeam(team) {
				return nil, fmt.Errorf("the file has stacks of %.60q, which is not a valid name of a team", team)
			}
			if slices.Contains(tables[team], table) || team != "" && team != last && tables[team] != nil {
				return nil, fmt.Errorf("the file is damaged: the table %.60q comes twice, or apart from the others of %q", table, team)
			}
			if team == "" {
				tables[""] = append(tables[""], table)
				return own.InsertServer(ctx, table, columns)
			}
			if team != last {
				is, err := s.hasStates(t, team)
				if err != nil {
					return nil, err
				}
				if !is {
					made = append(made, team)
				}
				var end func(bool) error
				if stacks, schema, end, err = s.openRaw(ctx, t.begun, team); err != nil {
					return nil, err
				}
				ends = append(ends, end)
				if err := stacks.RequireNoStacks(ctx, schema); err != nil {
					return nil, err
				}
				last = team
			}
			tables[team] = append(tables[team], table)
			return stacks.InsertStacks(ctx, schema, table, columns)
		}); err != nil {
			return err
		}
		err := s.settleImport(t, own, tables)
		if err == nil { // before the rows of the server, which say that there is something
			for _, end := range ends {
				err = errors.Join(err, end(true))
			}
			ends = nil
		}
		return err
	})
	for _, end := range ends {
		err = errors.Join(err, end(false))
	}
	if err != nil {
		for _, team := range made {
			err = errors.Join(err, s.removeStates(context.WithoutCancel(ctx), team))
		}
	}
	return err
}

// hasStates reports whether there are tables for the stacks of a team.
func (s *Server) hasStates(t *tx, team string) (bool, error) {
	if t.postgres {
		found, err := t.texts("SELECT nspname::text FROM pg_namespace WHERE nspname = ?", stateSchema(team))
		return len(found) > 0, err
	}
	_, err := os.Stat(s.stateFile(team))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// settleImport makes what the databases have beside the tables that were imported, once it is sure that this server can read them.
func (s *Server) settleImport(t *tx, own dump.Database, tables map[string][]string) error {
	teams, err := s.checkKeys(t)
	if err != nil {
		return err
	}
	if err := own.RequireWhole(t.ctx, tables, teams); err != nil {
		return err
	}
	schemas := []string{""}
	for _, team := range teams {
		schemas = append(schemas, stateSchema(team))
	}
	for _, schema := range schemas {
		if err := own.Count(t.ctx, schema); err != nil {
			return err
		}
	}
	type timer struct {
		args scheduleArgs
		next int64
	}
	var timers []timer
	if err := t.rows(func(scan func(...any) error) error {
		var one timer
		err := scan(&one.args.Tenant, &one.args.Name, &one.args.Version, &one.next)
		timers = append(timers, one)
		return err
	}, "SELECT tenant, name, version, next FROM husk_schedules WHERE next > 0"); err != nil {
		return err
	}
	for _, one := range timers {
		if _, err := s.timers.InsertTx(t.ctx, t.begun, one.args, &river.InsertOpts{ScheduledAt: timeOf(one.next)}); err != nil {
			return err
		}
	}
	return nil
}

// MemoryInUse returns how many bytes of memory requests and answers take now: see [Options.Memory].
func (s *Server) MemoryInUse() int64 { return s.memory.InUse() }
