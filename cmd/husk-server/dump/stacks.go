package dump

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/state"
)

// stackTable is a table of stacks in a file, which has the columns of the query for SQLite. Its names begin with @.
type stackTable struct {
	name string
	// columns are written with a letter before them that says what they are in PostgreSQL, where SQLite has an integer: ? for a
	// boolean, and @ for a time in microseconds since 1970.
	columns string
	// from and update are the query and the statement of PostgreSQL for rows that are a column of another table there.
	from, update string
}

// stackTables are the tables of packages sqlite and postgres of the backends. Tables that others refer to come first. PostgreSQL keeps
// large values apart from their rows by itself.
var stackTables = []stackTable{
	{name: "stacks", columns: "id project name ?present token lease holder @expires @written sequence last revision"},
	{name: "checkpoints", columns: "stack content", from: "SELECT id AS stack, checkpoint AS content FROM @stacks WHERE checkpoint IS NOT NULL", update: "UPDATE @stacks SET checkpoint = $2 WHERE id = $1"},
	{name: "journal", columns: "stack sequence record"},
	{name: "backups", columns: "stack number checkpoint sequence @written"},
	{name: "backup_records", columns: "stack number sequence record"},
	{name: "history", columns: "stack records"},
	{name: "runs", columns: "stack run content"},
	{name: "kv", columns: "stack provider version content"},
	{name: "modules", columns: "digest content"},
	{name: "kept", columns: "digest @at", from: "SELECT digest, kept AS at FROM @modules", update: "UPDATE @modules SET kept = $2 WHERE digest = $1"},
}

// inSchema returns a statement with the tables of a schema of PostgreSQL, or of a file of SQLite.
func inSchema(statement, schema string) string {
	if schema == "" {
		return strings.ReplaceAll(statement, "@", "")
	}
	return strings.ReplaceAll(statement, "@", `"`+schema+`".`)
}

// WriteStacks writes the stacks of a team, which are in a schema of PostgreSQL, or in the file of SQLite.
func (w *Writer) WriteStacks(ctx context.Context, from Database, schema, team string) error {
	for _, t := range stackTables {
		var columns []string
		for column := range strings.FieldsSeq(t.columns) {
			name := strings.TrimLeft(column, "?@")
			switch {
			case !from.Postgres:
			case column[0] == '?':
				name += "::int::bigint AS " + name
			case column[0] == '@':
				name = "(extract(epoch FROM " + name + ") * 1000000)::bigint AS " + name
			}
			columns = append(columns, name)
		}
		of := "@" + t.name
		if from.Postgres && t.from != "" {
			of = "(" + t.from + ") AS rows_of"
		}
		query := "SELECT " + strings.Join(columns, ", ") + " FROM " + inSchema(of, schema)
		if err := w.rowsOf(ctx, from.Tx, table{Team: team, Table: t.name}, query); err != nil {
			return fmt.Errorf("the stacks of %s: %w", team, err)
		}
	}
	return nil
}

// RequireNoStacks returns an error if there are stacks already.
func (d Database) RequireNoStacks(ctx context.Context, schema string) error {
	for _, name := range []string{"@stacks", "@modules"} {
		if err := d.requireEmpty(ctx, inSchema(name, schema)); err != nil {
			return err
		}
	}
	return nil
}

// InsertStacks returns a function that inserts the rows of a table of a team's stacks.
func (d Database) InsertStacks(ctx context.Context, schema, name string, columns []string) (func([]any) error, error) {
	i := slices.IndexFunc(stackTables, func(t stackTable) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("the file has the table %.60q of stacks, which this husk server does not know", name)
	}
	t := stackTables[i]
	var names, values []string
	statement := t.update
	for i, column := range strings.Fields(t.columns) {
		value := fmt.Sprintf("$%d", i+1)
		of := strings.TrimLeft(column, "?@")
		switch {
		case !d.Postgres:
		case column[0] == '?':
			value += "::bigint <> 0"
		case column[0] == '@':
			value = "timestamptz 'epoch' + " + value + "::bigint * interval '1 microsecond'"
			statement = strings.ReplaceAll(statement, fmt.Sprintf("$%d", i+1), value)
		}
		names, values = append(names, of), append(values, value)
	}
	if !slices.Equal(names, columns) {
		return nil, fmt.Errorf("the table %s of stacks has the columns %s in the file, not %s", name, strings.Join(columns, ", "), strings.Join(names, ", "))
	}
	if !d.Postgres || t.update == "" {
		if d.Postgres && name == "modules" { // the table kept comes later
			names, values = append(names, "kept"), append(values, "clock_timestamp()")
		}
		statement = d.insertion("@"+name, strings.Join(names, ", "), strings.Join(values, ", "))
	}
	insert := d.insert(ctx, inSchema(statement, schema))
	if name != stackTables[0].name {
		return insert, nil
	}
	return func(row []any) error {
		project, _ := row[1].(string)
		stack, _ := row[2].(string)
		if err := (state.StackName{Project: project, Name: stack}).Validate(); err != nil {
			return fmt.Errorf("the file is damaged: %w", err)
		}
		return insert(row)
	}, nil
}
