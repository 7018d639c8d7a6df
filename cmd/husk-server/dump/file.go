// Package dump copies the tables of a server's databases to a file and back, from and to SQLite and PostgreSQL.
//
// A file is JSON, a value a line, compressed with gzip: a header, each table followed by its rows, and the number of rows.
package dump

import (
	"bufio"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// format is what a file begins with.
const format = "husk server export 1"

type header struct {
	Format string `json:"format"`
	// Schema is the version of the server's tables.
	Schema int `json:"schema"`
}

// table begins the rows of a table.
type table struct {
	// Team is the team whose stacks have the table, empty for a table of the server.
	Team    string   `json:"team,omitempty"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// line is any line but the first.
type line struct {
	table
	Row  []value `json:"row,omitempty"`
	Rows *int64  `json:"rows,omitempty"`
}

// value is a value of a column: null, an integer, a text, or {"bytes": …}.
type value struct{ any }

func (v value) MarshalJSON() ([]byte, error) {
	if content, ok := v.any.([]byte); ok {
		return json.Marshal(map[string][]byte{"bytes": content})
	}
	return json.Marshal(v.any)
}

func (v *value) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case 'n':
		v.any = nil
		return nil
	case '"':
		var s string
		err := json.Unmarshal(text, &s)
		v.any = s
		return err
	case '{':
		var content struct{ Bytes []byte }
		err := json.Unmarshal(text, &content)
		v.any = content.Bytes
		return err
	}
	var n int64
	err := json.Unmarshal(text, &n)
	v.any = n
	return err
}

// Writer writes a file.
type Writer struct {
	z    *gzip.Writer
	to   *json.Encoder
	rows int64
}

// NewWriter begins a file with tables of a version.
func NewWriter(w io.Writer, schema int) (*Writer, error) {
	z := gzip.NewWriter(w)
	to := json.NewEncoder(z)
	to.SetEscapeHTML(false)
	return &Writer{z: z, to: to}, to.Encode(header{format, schema})
}

// Close ends the file.
func (w *Writer) Close() error { return errors.Join(w.to.Encode(line{Rows: &w.rows}), w.z.Close()) }

// rowsOf writes the rows of a query.
func (w *Writer) rowsOf(ctx context.Context, tx *sql.Tx, of table, query string) (err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("reading %s: %w", of.Table, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if of.Columns, err = rows.Columns(); err != nil {
		return err
	}
	if err := w.to.Encode(line{table: of}); err != nil {
		return err
	}
	row, into := make([]value, len(of.Columns)), make([]any, len(of.Columns))
	for rows.Next() {
		for i := range row {
			into[i] = &row[i].any
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range row {
			switch v := v.any.(type) {
			case nil, int64, []byte:
			case string:
				if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
					return fmt.Errorf("the table %s has a text in %s that is not UTF-8, or has a zero byte", of.Table, of.Columns[i])
				}
			default:
				return fmt.Errorf("the table %s has a value of the type %T in %s, which no file can have", of.Table, v, of.Columns[i])
			}
		}
		if err := w.to.Encode(line{Row: row}); err != nil {
			return err
		}
		w.rows++
	}
	return rows.Err()
}

// maxLine bounds a line of a file, in bytes: the largest value that a server takes has 256 MiB before it is in base64.
var maxLine int64 = 512 << 20

// bounded reads until it has read as much as is left.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a line has more than %d MiB", maxLine>>20)
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Read reads a file with tables of a version. The function open is called for each table, and the function that it returns for
// each of its rows.
func Read(r io.Reader, schema int, open func(team, table string, columns []string) (func(row []any) error, error)) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is not a file of husk server export: %w", err)
	}
	bytes := &bounded{from: bufio.NewReader(z), left: maxLine}
	from := json.NewDecoder(bytes)
	from.DisallowUnknownFields()
	var is header
	if err := from.Decode(&is); err != nil || is.Format != format {
		return errors.New("this is not a file of this version of husk server export")
	}
	if is.Schema != schema {
		return fmt.Errorf("the file has version %d of the server's tables, and this husk server version %d: import it with the version of husk that has exported it, and start a newer one afterwards", is.Schema, schema)
	}
	var rows int64
	var columns []string
	var insert func(row []any) error
	for {
		var next line
		bytes.left = maxLine
		if err := from.Decode(&next); err != nil {
			return fmt.Errorf("the file is not whole: %w", err)
		}
		switch {
		case next.Rows != nil:
			if *next.Rows != rows {
				return fmt.Errorf("the file is not whole: it has %d rows of %d", rows, *next.Rows)
			}
			switch _, err := from.Token(); { // which also reads the checksum
			case err == nil:
				return errors.New("the file is damaged: it goes on after its end")
			case !errors.Is(err, io.EOF):
				return fmt.Errorf("the file is not whole: %w", err)
			}
			return nil
		case next.Table != "":
			columns = slices.Clone(next.Columns)
			if insert, err = open(next.Team, next.Table, columns); err != nil {
				return err
			}
		case insert == nil || len(next.Row) != len(columns):
			return errors.New("the file is damaged: a row is of no table")
		default:
			values := make([]any, len(next.Row))
			for i, v := range next.Row {
				if text, is := v.any.(string); is && strings.ContainsRune(text, 0) {
					return fmt.Errorf("the file is damaged: it has a text with a zero byte in %s", columns[i])
				}
				values[i] = v.any
			}
			if err := insert(values); err != nil {
				return err
			}
			rows++
		}
	}
}
