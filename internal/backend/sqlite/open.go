// Package sqlite keeps stacks in an SQLite file, for one machine: a server with nothing installed beside it, or a runner
// that keeps its own stacks.
//
// Every step is one transaction, which is on disk when it ends. A step under a lease checks the fencing token in its
// transaction.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/nospace"
)

// Scheme is the scheme of the URLs that [Open] takes.
const Scheme = "sqlite"

// busyTime is how long a step waits for others' steps.
const busyTime = 15 * time.Second

const (
	// connections bounds a process's connections to one file: each has memory of its own.
	connections = 8
	// largeStep is how much a step may load or store before its connection is closed, in bytes: SQLite's memory only grows.
	largeStep = 4 << 20
)

// db is a database file, which is opened by its first step.
type db struct {
	file string

	mu     sync.Mutex
	opened *sql.DB
}

// Open opens the backend of a URL such as sqlite:///var/lib/husk/stacks.db or sqlite://./stacks.db. The first step makes
// the file, which only its owner can read.
func Open(_ context.Context, text, dir string) (*backend.Backend, error) {
	name, ok := strings.CutPrefix(text, Scheme+"://")
	if !ok || name == "" || strings.ContainsAny(name, "?#") {
		return nil, errors.New("the URL of the backend is not one of SQLite, which has the form sqlite:///path/to/file.db")
	}
	if rest := strings.TrimPrefix(name, "/"); filepath.VolumeName(filepath.FromSlash(rest)) != "" {
		name = rest // on Windows, sqlite:///C:/file.db has a separator before the drive
	}
	file, err := filepath.Abs(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	d := &db{file: file}
	return &backend.Backend{
		Place: file, Dir: dir, Remote: true,
		State: &Store{d}, Modules: modules{d}, KV: kv{d}, History: runs{d},
		Check: func(ctx context.Context) error { return d.write(ctx, func(*tx) error { return nil }) },
		Close: d.close,
	}, nil
}

func (d *db) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		_ = d.opened.Close() // every step is on disk
		d.opened = nil
	}
}

// open returns the database with the tables of this version.
func (d *db) open(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		return d.opened, nil
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
		return nil, err
	}
	// SQLite would make it readable for others.
	f, err := os.OpenFile(d.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	pragmas := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}}
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.file), RawQuery: pragmas.Encode()}).String()
	opened, err := sql.Open("sqlite3", name)
	if err != nil {
		return nil, err
	}
	opened.SetMaxOpenConns(connections)
	if err := d.migrate(ctx, opened); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	d.opened = opened
	return opened, nil
}

// tx is a transaction.
type tx struct {
	ctx context.Context
	*sql.Tx
	// moved is how many bytes were loaded and stored.
	moved int64
}

// exec executes a statement, and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	for _, arg := range args {
		if content, ok := arg.([]byte); ok {
			t.moved += int64(len(content))
		}
	}
	result, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the first row of a result, found is false if there is none.
func (t *tx) row(query string, args []any, into ...any) (found bool, err error) {
	switch err := t.QueryRowContext(t.ctx, query, args...).Scan(into...); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	default:
		return err == nil, err
	}
}

// room asks for room for the next read, if reads ask for any: for the bytes that a query returns.
func (t *tx) room(query string, args ...any) error {
	if !intake.IsBounded(t.ctx) {
		return nil
	}
	var bytes int64
	if _, err := t.row(query, args, &bytes); err != nil {
		return err
	}
	if err := intake.Room(t.ctx, bytes); err != nil {
		return done{err}
	}
	t.moved += bytes
	return nil
}

// rows calls each with the scanner of each row.
func (t *tx) rows(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has its error
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// write takes a step that changes something.
func (d *db) write(ctx context.Context, do func(*tx) error) error { return d.step(ctx, nil, do) }

// read takes a step that changes nothing, and sees one state of the database.
func (d *db) read(ctx context.Context, do func(*tx) error) error {
	return d.step(ctx, &sql.TxOptions{ReadOnly: true}, do)
}

// done is an error that has its message already.
type done struct{ error }

func (e done) Unwrap() error { return e.error }

func (d *db) step(ctx context.Context, options *sql.TxOptions, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	opened, err := d.open(ctx)
	if err != nil {
		return d.failed(err)
	}
	conn, err := opened.Conn(ctx)
	if err != nil {
		return d.failed(err)
	}
	defer func() { _ = conn.Close() }() // it is given back
	begun, err := conn.BeginTx(ctx, options)
	if err != nil {
		return d.failed(err)
	}
	t := &tx{ctx: ctx, Tx: begun}
	if err = do(t); err != nil {
		_ = begun.Rollback()               // nothing was changed
		if errors.Is(err, sqlite3.ERROR) { // as if a newer program has removed what this one uses
			var user int
			if conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&user) == nil {
				_, newer := d.newer(user)
				err = cmp.Or(newer, err)
			}
		}
	} else {
		err = begun.Commit()
	}
	if t.moved > largeStep {
		Discard(conn)
	}
	return d.failed(err)
}

// Discard closes a connection, which is not given back: its memory is free again.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which is the error
}

// failed says where an error of the database was.
func (d *db) failed(err error) error {
	var told done
	switch {
	case err == nil:
		return nil
	case errors.As(err, &told):
		return told.error
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR_WRITE) && d.isFull():
		return &state.NoSpaceError{File: d.file, Cause: err}
	case errors.Is(err, sqlite3.NOTADB), errors.Is(err, sqlite3.CORRUPT):
		return &state.CorruptError{File: d.file, Offset: -1, Reason: err.Error(), Remedy: "restore the file from a backup, or name another"}
	}
	return fmt.Errorf("the backend %s: %w", d.file, err)
}

// isFull reports whether the disk has no space for another file. For a write that failed, the driver does not say why.
func (d *db) isFull() bool {
	const size = 4 << 20 // more than most records
	f, err := os.CreateTemp(filepath.Dir(d.file), ".husk-space-*")
	if err != nil {
		return nospace.Is(err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is empty at least
	_, err = f.Write(make([]byte, size))
	err = errors.Join(err, f.Sync(), f.Truncate(0), f.Close())
	return nospace.Is(err)
}
