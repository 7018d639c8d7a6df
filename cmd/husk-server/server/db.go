package server

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/husk-dev/husk/cmd/husk-server/schema"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/intake"
)

// db is the server's database: PostgreSQL, or a file of SQLite.
type db struct {
	*sql.DB
	*clock
	postgres bool
	river    riverdriver.Driver[*sql.Tx]
	// probe has the connection by which PostgreSQL is asked whether it is there, whatever the others wait for.
	probe probe
	// version is how many changes of the tables the server knows, and outdated says that it cannot serve what they are now.
	version  int
	outdated atomic.Bool
	// ready wakes the workers that could take a run which is ready, and postponed who has runs be ready later.
	ready     waiters
	postponed chan struct{}
}

// changes make the tables, and schemaVersion counts them. To change the tables, add to [schema.Changes].
var (
	changes       = schema.Changes
	schemaVersion = len(changes)
)

// ErrNewerSchema says that a newer version of Husk has changed the database.
var ErrNewerSchema = errors.New("the database was changed by a newer version of husk server")

// errOutdated is the answer of a server whose tables a newer version has changed so that it cannot serve them.
var errOutdated = &refusal{status: http.StatusServiceUnavailable, after: tryAfter,
	reason: "a newer version of husk server has changed the database, and this server, which is older, does not serve it any more: it is to be replaced"}

// File is the database of a server that has no other, in its directory, and KeyFile its key.
const File, KeyFile = "server.db", "server.key"

// openDB opens the database of a URL, which is a file in dir if the URL is empty, and makes or changes its tables.
func openDB(ctx context.Context, address, dir string) (*db, error) {
	d := &db{clock: &clock{}, postgres: address != "", version: schemaVersion, postponed: make(chan struct{}, 1)}
	var err error
	if d.postgres {
		if !slices.Contains(postgres.Schemes, backend.Scheme(address)) {
			return nil, errors.New("--database must be a URL such as postgres://husk@db.example/husk")
		}
		config, err := pgx.ParseConfig(address)
		if err != nil {
			return nil, errors.New("--database is not a valid URL of a PostgreSQL database")
		}
		if !strings.Contains(address, "default_query_exec_mode=") {
			// Poolers such as PgBouncer give transactions to connections that have no prepared statements of others. The
			// parameters and results of a statement are the same on all of them.
			config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
			return conn.Exec(ctx, fmt.Sprintf("SET idle_in_transaction_session_timeout = %d", idleTime.Milliseconds())).Close()
		}
		d.DB = stdlib.OpenDB(*config)
		const connections = 16
		d.SetMaxOpenConns(connections)
		d.probe.db = stdlib.OpenDB(*config)
		d.probe.db.SetMaxOpenConns(1)
		d.river = riverdatabasesql.New(d.DB)
	} else {
		file := filepath.Join(dir, File)
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would make it readable for others
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: url.Values{
			"_pragma": {"busy_timeout(15000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}, "_txlock": {"immediate"},
			"_timefmt": {"sqlite"}, // River compares times as texts of this form
		}.Encode()}
		if d.DB, err = sql.Open("sqlite3", name.String()); err != nil {
			return nil, err
		}
		d.SetMaxOpenConns(1) // steps that write exclude each other anyway
		d.river = riversqlite.New(d.DB)
	}
	reaching, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err = d.PingContext(reaching); err == nil {
		making, cancel := context.WithTimeout(ctx, makeTime)
		defer cancel()
		if err = d.migrate(making); err == nil {
			err = d.alone(making, (*tx).readClock)
		}
	}
	if err != nil {
		_ = d.Close()
		if d.postgres {
			err = fmt.Errorf("the database of --database: %w", err)
		}
		return nil, err
	}
	return d, nil
}

// Close closes all connections.
func (d *db) Close() error {
	err := d.DB.Close()
	if d.probe.db != nil {
		err = errors.Join(err, d.probe.db.Close())
	}
	return err
}

// probe asks whether a database can be reached.
type probe struct {
	db *sql.DB

	mu sync.Mutex
	// at is when the last answer came.
	at  time.Time
	err error
}

// probeTime bounds a question of a probe.
const probeTime = 2 * time.Second

// reached returns an error if the database cannot be reached. One in a file always is. Anybody may ask, and concurrent callers
// get one answer.
func (p *probe) reached() error {
	if p.db == nil {
		return nil
	}
	since := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.After(since) {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	p.err = p.db.PingContext(ctx)
	p.at = time.Now()
	return p.err
}

const (
	// openTime bounds the time in which the database is reached, and makeTime the one in which tables are made: an index of millions of rows
	// takes minutes.
	openTime, makeTime = 30 * time.Second, 15 * time.Minute
	// idleTime is how long a transaction may wait for its server. One that hangs, or whose machine is gone, has rows that others wait for.
	idleTime = time.Minute
)

// migrate makes the tables of this version, and River's. Servers that start at once wait for each other.
func (d *db) migrate(ctx context.Context) error {
	unlock, err := d.lockTables(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.step(ctx, migrateStep); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(d.river, nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// lockTables has the server be the only one that makes tables, until it unlocks them or ends. In SQLite each step excludes all
// others, and a file has one server.
func (d *db) lockTables(ctx context.Context) (unlock func(), err error) {
	if !d.postgres {
		return func() {}, nil
	}
	// A lock of a transaction, which poolers give to one connection.
	holding, err := d.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	const huskServer = 0x6875736b // any number that others do not use
	_, err = holding.ExecContext(ctx, fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", makeTime.Milliseconds()))
	if err == nil {
		_, err = holding.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", huskServer)
	}
	if err != nil {
		return nil, errors.Join(err, holding.Rollback())
	}
	return func() { _ = holding.Rollback() }, nil // it has changed nothing
}

// migrateStep makes the tables of this version.
func migrateStep(t *tx) error {
	if _, err := t.exec("CREATE TABLE IF NOT EXISTS husk_schema (version INTEGER NOT NULL)"); err != nil {
		return err
	}
	var version int
	switch err := t.row("SELECT version FROM husk_schema").Scan(&version); {
	case errors.Is(err, sql.ErrNoRows):
		if _, err := t.exec("INSERT INTO husk_schema (version) VALUES (0)"); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if version < 0 {
		return fmt.Errorf("the table husk_schema has the version %d, which no husk server writes: restore a backup of the database, or name an empty one", version)
	}
	if version > schemaVersion {
		return fmt.Errorf("%w: its tables have version %d, and this husk server knows versions up to %d. Start a server of the newer version, or restore the backup from before the upgrade", ErrNewerSchema, version, schemaVersion)
	}
	for _, change := range changes[version:] {
		for _, statement := range schema.Statements(change, t.postgres) {
			if _, err := t.exec(statement); err != nil {
				return err
			}
		}
	}
	_, err := t.exec("UPDATE husk_schema SET version = ?", schemaVersion)
	return err
}

const (
	// smallRow is the size of a row without its text, in bytes.
	smallRow = 256
	// rowCopies is how often a text is in memory that is read, decoded, and sent.
	rowCopies = 6
	// largeStep is how much a step may load or store before its connection is closed, in bytes: SQLite's memory only grows.
	largeStep = 4 << 20
)

// querier executes statements in a transaction, or in none.
type querier interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// tx is a transaction, or the single statements of [db.alone]. Its statements have ? for their arguments.
type tx struct {
	ctx context.Context
	querier
	*clock
	// begun is nil if there is no transaction.
	begun    *sql.Tx
	postgres bool
	// moved is how many bytes of large rows were loaded and stored.
	moved int64
	// made are the runs that the transaction has made ready, and postponed says that one is to be so later.
	made      []wanted
	postponed bool
	// kept are the bytes that it adds to the sizes of teams: see [tx.keeps].
	kept map[string]int64
}

// step takes a step: all changes of do, or none.
func (d *db) step(ctx context.Context, do func(*tx) error) error {
	return d.do(ctx, func(conn *sql.Conn) (*tx, error) {
		begun, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		t := &tx{ctx: ctx, querier: begun, clock: d.clock, begun: begun, postgres: d.postgres}
		if err = do(t); err == nil {
			err = t.addSizes()
		}
		if err != nil {
			return t, errors.Join(err, begun.Rollback())
		}
		return t, begun.Commit()
	})
}

// alone is step without a transaction, for functions that mostly execute one statement: that asks PostgreSQL once, and a
// transaction asks three times.
func (d *db) alone(ctx context.Context, do func(*tx) error) error {
	return d.do(ctx, func(conn *sql.Conn) (*tx, error) {
		t := &tx{ctx: ctx, querier: conn, clock: d.clock, postgres: d.postgres}
		if err := do(t); err != nil {
			return t, err
		}
		return t, t.addSizes()
	})
}

// do takes a step, unless the tables are not for this server any more.
func (d *db) do(ctx context.Context, do func(*sql.Conn) (*tx, error)) error {
	if d.outdated.Load() {
		return errOutdated
	}
	err := d.try(ctx, do)
	var refused *refusal
	if err != nil && ctx.Err() == nil && !errors.As(err, &refused) && d.isOutdated(ctx) {
		return errOutdated
	}
	return err
}

// isOutdated asks the database whether a newer server has changed the tables so that this one cannot serve them.
func (d *db) isOutdated(ctx context.Context) bool {
	var least int
	if err := d.QueryRowContext(ctx, "SELECT least FROM husk_schema").Scan(&least); err == nil && least > d.version && !d.outdated.Swap(true) {
		slog.Error("this server is to be replaced: a newer version of husk server has changed the database so that this one cannot serve it")
	}
	return d.outdated.Load()
}

func (d *db) try(ctx context.Context, do func(*sql.Conn) (*tx, error)) error {
	conn, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it is given back
	t, err := do(conn)
	if t == nil {
		return err
	}
	if t.moved > largeStep && !d.postgres {
		sqlite.Discard(conn)
	}
	if err != nil {
		return err
	}
	for _, one := range t.made {
		d.ready.wake(one)
	}
	if t.postponed {
		signal(d.postponed)
	}
	return nil
}

// room takes memory for the texts that come next, if the memory of the step is bounded: a query gives their bytes.
func (t *tx) room(query string, args ...any) error {
	if !intake.IsBounded(t.ctx) {
		return nil
	}
	var bytes int64
	if err := t.row(query, args...).Scan(&bytes); err != nil {
		return err
	}
	return intake.Room(t.ctx, rowCopies*bytes)
}

// content loads a large text that takes memory for so many copies. It returns nothing if the row does not exist.
func (t *tx) content(copies int64, column, from string, args ...any) (content []byte, err error) {
	var bytes sql.NullInt64
	err = t.row("SELECT octet_length("+column+") FROM "+from, args...).Scan(&bytes)
	if errors.Is(err, sql.ErrNoRows) || err == nil && bytes.Int64 == 0 {
		return nil, nil
	}
	if err == nil {
		err = intake.Room(t.ctx, copies*bytes.Int64)
	}
	if err != nil {
		return nil, err
	}
	t.moved += bytes.Int64
	return content, t.row("SELECT "+column+" FROM "+from, args...).Scan(&content)
}

// numbered returns a statement as the database wants it.
func numbered(statement string, postgres bool) string {
	if !postgres {
		return statement
	}
	var b strings.Builder
	n := 0
	for _, c := range statement {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		fmt.Fprintf(&b, "$%d", n)
	}
	return b.String()
}

// exec executes a statement, and returns how many rows it changed.
func (t *tx) exec(statement string, args ...any) (int64, error) {
	for _, arg := range args {
		if content, ok := arg.([]byte); ok {
			t.moved += int64(len(content))
		}
	}
	result, err := t.ExecContext(t.ctx, numbered(statement, t.postgres), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) row(statement string, args ...any) *sql.Row {
	return t.QueryRowContext(t.ctx, numbered(statement, t.postgres), args...)
}

// rows calls do for each row of a query.
func (t *tx) rows(do func(scan func(...any) error) error, statement string, args ...any) (err error) {
	rows, err := t.QueryContext(t.ctx, numbered(statement, t.postgres), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts returns the texts of a query with one column.
func (t *tx) texts(statement string, args ...any) (all []string, err error) {
	err = t.rows(func(scan func(...any) error) error {
		var one string
		err := scan(&one)
		all = append(all, one)
		return err
	}, statement, args...)
	return all, err
}

// locked is the end of a query whose rows no other transaction takes. SQLite has one writer at a time.
func (t *tx) locked() string {
	if t.postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// now is the time of the database in statements: what ends at a time ends for all servers at once, whatever their clocks say.
func (t *tx) now() string {
	if t.postgres {
		return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
	}
	return "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
}

// readClock reads the time of the database.
func (t *tx) readClock() error {
	var now int64
	err := t.row("SELECT " + t.now()).Scan(&now)
	if err == nil {
		t.clock.set(timeOf(now))
	}
	return err
}

// bytewise is the order of texts by their bytes, whatever the language of the database.
func (t *tx) bytewise() string {
	if t.postgres {
		return ` COLLATE "C"`
	}
	return " COLLATE BINARY"
}

// until returns how long it is until a time of the database.
func (t *tx) until(end time.Time) (time.Duration, error) {
	var left int64
	err := t.row("SELECT ? - "+t.now(), millis(end)).Scan(&left)
	return time.Duration(left) * time.Millisecond, err
}

// errAway is the answer while the database is away.
var errAway = &refusal{status: http.StatusServiceUnavailable, reason: "the server cannot reach its database now: try again", after: tryAfter}

// isAway reports whether an error says that the database cannot be reached now: it stops, starts, is another one, or has too many
// connections.
func isAway(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return slices.ContainsFunc([]string{"08", "57P", "53300", "25006"}, func(code string) bool { return strings.HasPrefix(refused.Code, code) })
	}
	var connecting *pgconn.ConnectError
	var network *net.OpError
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// conflict reports whether a row with the same key exists. The transaction has failed then.
func conflict(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "UNIQUE constraint failed") || strings.Contains(err.Error(), "SQLSTATE 23505"))
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
