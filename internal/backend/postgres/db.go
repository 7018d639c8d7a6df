package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// attemptTime bounds one attempt of a step, and transferRate, in bytes per second, what a large text
	// adds to that: a connection whose other end is gone gives no error.
	attemptTime  = 15 * time.Second
	transferRate = 256 << 10
	// retryTime bounds all attempts: a replica that takes over needs some seconds.
	retryTime = time.Minute
	// firstPause is the pause after the first attempt. It doubles up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
)

// db sends steps to a schema of a database. It is safe for concurrent use.
type db struct {
	pool          *pool
	place, schema string
	tables        *strings.Replacer
	// close gives the connections up.
	close func()

	mu sync.Mutex
	// ready says that the tables are known to have the version of this program.
	ready bool
}

// statement is one of a step. "@" in it stands for the schema.
type statement struct {
	sql  string
	args []any
}

func sql(text string, args ...any) statement { return statement{text, args} }

// row is one of a result. Its values are in PostgreSQL's binary format.
type row [][]byte

func (r row) int(column int) int64 { return int64(binary.BigEndian.Uint64(r[column])) }

func (r row) text(column int) string { return string(r[column]) }

func (r row) isTrue(column int) bool { return r[column][0] == 1 }

// time reads microseconds since 1970, zero for NULL.
func (r row) time(column int) time.Time {
	if r[column] == nil {
		return time.Time{}
	}
	return time.UnixMicro(r.int(column)).UTC()
}

// step sends statements as one transaction, and again if the connection is lost. It returns the rows of
// the last statement. repeated says that an earlier attempt may have taken effect.
//
// Such an attempt may be committed without having waited for a synchronous replica: its wait ends with its connection. A later
// attempt that finds it changes nothing, and a commit that has changed nothing waits for nothing. So a repeated step also writes:
// its commit waits until the replica has all earlier commits.
func (d *db) step(ctx context.Context, statements ...statement) (rows []row, repeated bool, err error) {
	results, repeated, err := d.send(ctx, ifRepeated, statements)
	return last(results), repeated, err
}

func last(results [][]row) []row {
	if len(results) == 0 {
		return nil
	}
	return results[len(results)-1]
}

// confirm is step for a query that finds out what an earlier step has done. The replica has the data that it returns.
func (d *db) confirm(ctx context.Context, query statement) ([]row, error) {
	results, _, err := d.send(ctx, always, []statement{query})
	return last(results), err
}

// read is step for a query.
func (d *db) read(ctx context.Context, query statement) ([]row, error) {
	results, _, err := d.send(ctx, never, []statement{query})
	return last(results), err
}

const (
	// firstRoom is the room that a bounded read asks for before it knows its size, in bytes: most take one round trip.
	firstRoom = 64 << 10
	// nameSize is the size of each of many rows besides its text, in bytes.
	nameSize = 64
)

// readBounded is read for rows that may be large. It asks for the room that they take. query returns the query of rows that have
// at most so many bytes: its first column is how many these are, also of a row without the rest if they are more.
func (d *db) readBounded(ctx context.Context, query func(most int64) statement) ([]row, error) {
	most := int64(math.MaxInt64)
	if intake.IsBounded(ctx) {
		most = firstRoom
		if err := intake.Room(ctx, most); err != nil {
			return nil, err
		}
	}
	for {
		rows, err := d.read(ctx, query(most))
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		if bytes := rows[0].int(0); bytes > most {
			if err := intake.Room(ctx, bytes-most); err != nil {
				return nil, err
			}
			most = bytes
			continue // others may have changed it meanwhile
		}
		for i, r := range rows {
			rows[i] = r[1:]
		}
		return rows, nil
	}
}

// one returns a query for [db.readBounded] of a single row, with a content that may be large and other columns, from a condition.
func one(content, columns, from string, args ...any) func(int64) statement {
	return func(most int64) statement {
		parameter := fmt.Sprintf("$%d::bigint", len(args)+1)
		return sql("SELECT length("+content+")::bigint, CASE WHEN length("+content+") <= "+parameter+" THEN "+content+" END"+columns+" FROM "+from, append(slices.Clone(args), most)...)
	}
}

// writes says which attempts of a step write something in any case.
type writes int

const (
	never writes = iota
	ifRepeated
	always
)

// write writes something, and changes nothing. It comes last, so that no step keeps others waiting while it waits.
var write = sql("UPDATE @meta SET version = version")

// send returns the rows of each statement.
func (d *db) send(ctx context.Context, writes writes, statements []statement) (out [][]row, repeated bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	size := 0
	for _, s := range statements {
		for _, a := range s.args {
			if text, ok := a.([]byte); ok {
				size += len(text)
			}
		}
	}
	limit := attemptTime + time.Duration(size/transferRate)*time.Second
	end, pause := time.Now().Add(retryTime+limit), firstPause
	for {
		sent := statements
		if writes == always || writes == ifRepeated && repeated {
			sent = append(slices.Clip(statements), write)
		}
		attempt, cancel := context.WithTimeout(ctx, limit)
		results, connected, err := d.attempt(attempt, sent)
		cancel()
		if err == nil {
			out := make([][]row, len(statements))
			for i := range out {
				for _, r := range results[i].Rows {
					out[i] = append(out[i], row(r))
				}
			}
			return out, repeated, nil
		}
		if ctx.Err() != nil {
			return nil, repeated, ctx.Err()
		}
		again, maybe := retryable(err)
		repeated = repeated || connected && maybe
		if !again || !connected && !d.wasReady() || time.Now().After(end) {
			if isCode(err, diskFull) && !repeated {
				return nil, false, &state.NoSpaceError{File: d.place, Cause: err}
			}
			err = d.refused(err)
			if again && d.wasReady() {
				err = backend.Unreachable(err)
			}
			return nil, repeated, err
		}
		select {
		case <-ctx.Done():
			return nil, repeated, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

func (d *db) wasReady() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ready
}

// attempt sends statements once. connected reports that something may have been sent.
func (d *db) attempt(ctx context.Context, statements []statement) (results []*pgconn.Result, connected bool, err error) {
	conn, err := d.pool.take(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		again, _ := retryable(err)
		d.pool.give(conn, !again)
	}()
	delete(conn.CustomData(), unreplicated)
	if !d.wasReady() {
		return d.first(ctx, conn, statements)
	}
	results, err = exec(ctx, conn, d.tables, statements)
	if isCode(err, undefinedTable, undefinedColumn, undefinedCall, invalidSchema) { // as if a newer program has removed what this one uses
		if _, newer := d.version(ctx, conn); newer != nil {
			err = newer
		}
	}
	if _, is := conn.CustomData()[unreplicated]; is && err == nil {
		err = errUnreplicated
	}
	return results, true, err
}

// first sends the statements of the first step, which have no effect if this program cannot use the tables as they are. If so, it makes
// the tables before it sends them again.
func (d *db) first(ctx context.Context, conn *pgconn.PgConn, statements []statement) ([]*pgconn.Result, bool, error) {
	guard := sql("SELECT 1 / (count(*) = 1 AND min(m.version) >= $1 AND min("+least+") <= $1)::int FROM @meta m", len(migrations))
	results, err := exec(ctx, conn, d.tables, append([]statement{guard}, statements...))
	if err == nil {
		d.setReady()
		if _, is := conn.CustomData()[unreplicated]; is {
			return nil, true, errUnreplicated
		}
		return results[1:], true, nil
	}
	if err != nil && !isCode(err, divisionByZero, undefinedTable, invalidSchema) {
		return nil, true, err
	}
	if err := d.prepare(ctx, conn); err != nil {
		return nil, false, err
	}
	d.setReady()
	results, err = exec(ctx, conn, d.tables, statements)
	return results, true, err
}

func (d *db) setReady() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = true
}

// exec sends statements with one Sync, which makes them one transaction.
func exec(ctx context.Context, conn *pgconn.PgConn, tables *strings.Replacer, statements []statement) ([]*pgconn.Result, error) {
	const textFormat, binaryFormat = 0, 1
	var batch pgconn.Batch
	for _, s := range statements {
		values, formats := make([][]byte, len(s.args)), make([]int16, len(s.args))
		for i, a := range s.args {
			switch a := a.(type) {
			case nil:
			case []byte:
				if a == nil {
					a = []byte{} // not NULL
				}
				values[i], formats[i] = a, binaryFormat
			default:
				values[i], formats[i] = fmt.Append(nil, a), textFormat
			}
		}
		batch.ExecParams(tables.Replace(s.sql), values, nil, formats, []int16{binaryFormat})
	}
	results, err := conn.ExecBatch(ctx, &batch).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
	}
	if len(results) != len(statements) {
		return nil, errors.New("the server answered fewer statements than it was sent")
	}
	return results, nil
}

// transient are the codes, or their classes, of errors that another connection may not have: a server that
// stops, starts, has too many connections, or became a replica, and transactions that wait for each other.
var transient = []string{"08", "57P01", "57P02", "57P03", "57P05", "53300", "25006", "40001", "40P01"}

// retryable reports whether an error may be gone with another attempt, and whether the step that had it may
// have taken effect.
func retryable(err error) (again, maybe bool) {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return false, false
	case errors.As(err, &refused):
		again = slices.ContainsFunc(transient, func(code string) bool { return strings.HasPrefix(refused.Code, code) })
		return again, again && strings.HasPrefix(refused.Code, "57P") || strings.HasPrefix(refused.Code, "08")
	case errors.Is(err, errSchema):
		return false, false
	}
	return true, true // also if pgconn says that nothing was sent: after a lost answer, too, it says that the connection is closed
}

// isCode reports whether the server refused a step with one of the codes.
func isCode(err error, codes ...string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code)
}
