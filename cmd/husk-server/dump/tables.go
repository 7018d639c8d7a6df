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
	kinds, kindsErr := rows.ColumnTypes()
	if err = errors.Join(err, kindsErr, rows.Close()); err != nil {
		return nil, err
	}
	if !slices.Equal(slices.Sorted(slices.Values(known)), slices.Sorted(slices.Values(columns))) {
		return nil, fmt.Errorf("the table %s of the file has the columns %s, not %s", name, strings.Join(columns, ", "), strings.Join(known, ", "))
	}
	list := strings.Join(columns, ", ")
	insert := d.insert(ctx, d.insertion(name, list, placeholders(len(columns))))
	if d.Postgres {
		return insert, nil
	}
	declared := make(map[string]string)
	for _, kind := range kinds {
		declared[kind.Name()] = kind.DatabaseTypeName()
	}
	return func(row []any) error { // SQLite takes any value, and the server could not read it
		for i, value := range row {
			if !isOf(declared[columns[i]], value) {
				return fmt.Errorf("the file is damaged: the table %s has a %T in %s, which is %s", name, value, columns[i], declared[columns[i]])
			}
		}
		return insert(row)
	}, nil
}

// isOf reports whether a value of a file is of a type of SQLite. Whether it may be NULL, the table says.
func isOf(declared string, value any) bool {
	is := ""
	switch value.(type) {
	case nil:
		return true
	case int64:
		is = "INTEGER"
	case string:
		is = "TEXT"
	case []byte:
		is = "BLOB"
	}
	return declared == is
}

// RequireWhole returns an error unless a file had all tables of the server and of the stacks of its teams, and the rows that each server has.
// tables are the tables in the file by team, with the server's under "".
func (d Database) RequireWhole(ctx context.Context, tables map[string][]string, teams []string) error {
	server, err := d.serverTables(ctx)
	if err != nil {
		return err
	}
	if err := requireAll(server, tables[""], "the server"); err != nil {
		return err
	}
	var stacks []string
	for _, t := range stackTables {
		stacks = append(stacks, t.name)
	}
	for _, team := range teams {
		if err := requireAll(stacks, tables[team], "the stacks of "+team); err != nil {
			return err
		}
	}
	for team := range tables {
		if team != "" && !slices.Contains(teams, team) {
			return fmt.Errorf("the file is damaged: it has stacks of %s, and no such team", team)
		}
	}
	// If somebody made such a team later, the token would be valid for it.
	strangers, err := d.strings(ctx, "SELECT tenant FROM husk_tokens WHERE tenant <> '*' AND tenant NOT IN (SELECT name FROM husk_tenants WHERE ended = 0)")
	if err == nil && len(strangers) > 0 {
		err = fmt.Errorf("the file is damaged: it has a token of the team %.60q, and no such team", strangers[0])
	}
	if err != nil {
		return err
	}
	for name, query := range map[string]string{turns: "SELECT of FROM husk_turns WHERE of = '*'", counted: "SELECT 'x' FROM husk_counted"} {
		if rows, err := d.strings(ctx, query); err != nil || len(rows) != 1 {
			return errors.Join(err, fmt.Errorf("the file is damaged: the table %s has %d rows where it has one from the beginning", name, len(rows)))
		}
	}
	return nil
}

func requireAll(want, have []string, of string) error {
	for _, name := range want {
		if !slices.Contains(have, name) {
			return fmt.Errorf("the file is not whole: it has no table %s of %s", name, of)
		}
	}
	return nil
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
