package dump

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Database is a transaction of a database.
type Database struct {
	*sql.Tx
	Postgres bool
}

// strings returns the texts that a query returns.
func (d Database) strings(ctx context.Context, query string) (all []string, err error) {
	rows, err := d.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

const (
	// version is the table of the schema's version, which each database has.
	version = "husk_schema"
	// turns and counted are the tables that have a row from the beginning.
	turns, counted = "husk_turns", "husk_counted"
)

// parents are the tables that others refer to, whose rows come first.
var parents = []string{"husk_tenants", "husk_bundles", "husk_runs"}

// serverTables returns the tables of a server, which has no others that begin with husk_.
func (d Database) serverTables(ctx context.Context) ([]string, error) {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'husk\_%' ESCAPE '\' ORDER BY name`
	if d.Postgres {
		query = `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'husk\_%' ORDER BY 1`
	}
	found, err := d.strings(ctx, query)
	found = slices.DeleteFunc(found, func(name string) bool { return name == version || slices.Contains(parents, name) })
	return append(slices.Clone(parents), found...), err
}

// WriteServer writes the tables of a server.
func (w *Writer) WriteServer(ctx context.Context, from Database) error {
	all, err := from.serverTables(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := w.rowsOf(ctx, from.Tx, table{Table: name}, "SELECT * FROM "+name); err != nil {
			return err
		}
	}
	return nil
}

// Clear makes room in a new database for the tables of another server, and returns an error if it is not new.
func (d Database) Clear(ctx context.Context) error {
	all, err := d.serverTables(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		if name == turns || name == counted {
			if _, err := d.ExecContext(ctx, "DELETE FROM "+name); err != nil {
				return err
			}
			continue
		}
		if err := d.requireEmpty(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ErrNotEmpty says that a database has rows already.
var ErrNotEmpty = errors.New("the database is not empty: import into one that no server has used")

func (d Database) requireEmpty(ctx context.Context, name string) error {
	var n int
	if err := d.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+name+" LIMIT 1) AS one").Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%w (%s has rows)", ErrNotEmpty, name)
	}
	return nil
}

// InsertServer returns a function that inserts the rows of a table of the server.
func (d Database) InsertServer(ctx context.Context, name string, columns []string) (func([]any) error, error) {
	all, err := d.serverTables(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(all, name) {
		return nil, fmt.Errorf("the file has the table %.60q, which this husk server does not know", name)
	}
	rows, err := d.QueryContext(ctx, "SELECT * FROM "+name+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	known, err := rows.Columns()
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	if !slices.Equal(slices.Sorted(slices.Values(known)), slices.Sorted(slices.Values(columns))) {
		return nil, fmt.Errorf("the table %s of the file has the columns %s, not %s", name, strings.Join(columns, ", "), strings.Join(known, ", "))
	}
	list := strings.Join(columns, ", ")
	return d.insert(ctx, d.insertion(name, list, placeholders(len(columns)))), nil
}

// insertion returns a statement that inserts a row with the numbers of the file, also where PostgreSQL gives numbers itself.
func (d Database) insertion(table, columns, values string) string {
	overriding := ""
	if d.Postgres {
		overriding = " OVERRIDING SYSTEM VALUE"
	}
	return "INSERT INTO " + table + " (" + columns + ")" + overriding + " VALUES (" + values + ")"
}

func (d Database) insert(ctx context.Context, statement string) func([]any) error {
	return func(row []any) error {
		_, err := d.ExecContext(ctx, statement, row...)
		return err
	}
}

// placeholders returns the placeholders of n arguments, in the form of both databases.
func placeholders(n int) string {
	var all []string
	for i := range n {
		all = append(all, "$"+strconv.Itoa(i+1))
	}
	return strings.Join(all, ", ")
}

// Count sets the sequences of a schema in PostgreSQL, so that new numbers follow the inserted ones.
func (d Database) Count(ctx context.Context, schema string) error {
	if !d.Postgres {
		return nil
	}
	where := "current_schema()"
	if schema != "" {
		where = "'" + schema + "'"
	}
	all, err := d.strings(ctx, "SELECT format('SELECT setval(pg_get_serial_sequence(%L, %L), COALESCE(max(%I), 0) + 1, false) FROM %I.%I', quote_ident(table_schema) || '.' || quote_ident(table_name), column_name, column_name, table_schema, table_name)"+
		" FROM information_schema.columns WHERE is_identity = 'YES' AND table_schema = "+where)
	for _, statement := range all {
		if _, one := d.ExecContext(ctx, statement); err == nil {
			err = one
		}
	}
	return err
}
