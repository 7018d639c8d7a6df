package schema_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/schema"
)

// unused has columns, as table.column, and tables that servers no longer use from a version on: a later change may remove them.
var unused = map[string]int{}

// Servers of all versions that go on serving find what they read and write after each change.
func TestChangesOnlyAdd(t *testing.T) {
	require.Empty(t, broken(t, schema.Changes, unused))
}

// What a server of the version before could trip over is found.
func TestChangesThatRemove(t *testing.T) {
	for change, want := range map[string]string{
		"ALTER TABLE husk_runs DROP COLUMN reason":                                                           "husk_runs.reason",
		"ALTER TABLE husk_runs RENAME COLUMN reason TO why":                                                  "husk_runs.reason",
		"ALTER TABLE husk_runs RENAME TO husk_work":                                                          "husk_runs",
		"DROP TABLE husk_turns":                                                                              "husk_turns",
		"CREATE UNIQUE INDEX husk_runs_x ON husk_runs (tenant, made)":                                        "a unique index",
		"DROP INDEX husk_runs_one":                                                                           "a unique index",
		"CREATE TRIGGER husk_x AFTER INSERT ON husk_runs BEGIN SELECT RAISE(ABORT, 'no'); END":               "a trigger",
		"ALTER TABLE husk_runs ADD COLUMN x TEXT CHECK (x <> '')":                                            "a check",
		"ALTER TABLE husk_runs ADD COLUMN x TEXT REFERENCES husk_tenants (name)":                             "a foreign key",
		"CREATE TABLE husk_x (of TEXT NOT NULL);\nDROP TABLE husk_counted":                                   "husk_counted",
		"DROP TABLE husk_counted;\nCREATE TABLE husk_counted (at INTEGER NOT NULL, by TEXT NOT NULL)":        "husk_counted.by",
		"DROP TABLE husk_counted;\nCREATE TABLE husk_counted (at INTEGER)":                                   "husk_counted.at",
		"ALTER TABLE husk_runs ADD COLUMN x TEXT NOT NULL DEFAULT '';\nCREATE INDEX husk_x ON husk_runs (x)": "",
		"CREATE TABLE husk_x (of TEXT PRIMARY KEY REFERENCES husk_tenants (name))":                           "",
	} {
		all := append(slices.Clone(schema.Changes), change)
		found := broken(t, all, unused)
		if want == "" {
			require.Empty(t, found, change)
			continue
		}
		require.Contains(t, fmt.Sprint(found), want, change)
	}
	// A later version drops an unused column once the last servers that use it have stopped.
	before := len(schema.Changes)
	remove := "ALTER TABLE husk_runs DROP COLUMN reason"
	require.NotEmpty(t, broken(t, append(slices.Clone(schema.Changes), "SELECT 1", remove), map[string]int{"husk_runs.reason": before + 1}))
	require.Empty(t, broken(t, append(slices.Clone(schema.Changes), "SELECT 1", fmt.Sprintf("%s;\nUPDATE husk_schema SET least = %d", remove, before+1)), map[string]int{"husk_runs.reason": before + 1}))
}

// broken returns what changes take from servers of the versions that serve all of their tables.
func broken(t *testing.T, changes []string, unused map[string]int) (found []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE husk_schema (version INTEGER NOT NULL); INSERT INTO husk_schema (version) VALUES (0)")
	require.NoError(t, err)
	after := make([]map[string]string, len(changes)+1)
	for i, change := range changes {
		for _, statement := range schema.Statements(change, false) {
			_, err := db.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		after[i+1] = describe(t, db)
	}
	var least int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT least FROM husk_schema").Scan(&least))
	require.Positive(t, least)
	now := after[len(changes)]
	for version := least; version < len(changes); version++ {
		was := after[version]
		for _, part := range slices.Sorted(maps.Keys(was)) {
			from, ok := unused[part]
			if all, is := unused[tableOf(part)]; is {
				from, ok = all, is
			}
			if is, there := now[part]; (!there || is != was[part]) && (!ok || version < from) {
				found = append(found, fmt.Sprintf("a server of version %d uses %s, which was %q, and is %q", version, part, was[part], is))
			}
		}
		for _, part := range slices.Sorted(maps.Keys(now)) {
			_, known := was[part]
			_, knownTable := was[tableOf(part)]
			isColumn := strings.Contains(part, ".")
			if !known && knownTable && (!isColumn || strings.HasPrefix(now[part], required)) {
				found = append(found, fmt.Sprintf("a server of version %d writes without %s, which is %s", version, part, now[part]))
			}
		}
	}
	return found
}

// required begins the description of a column without a default.
const required = "required "

// tableOf returns the table of a part that describe returns.
func tableOf(part string) string { return part[:strings.IndexAny(part+".", ".:")] }

// describe returns the parts of the tables on which statements depend, each with what it is: tables, columns as TABLE.COLUMN, and what
// rows must keep, as "TABLE: what".
func describe(t *testing.T, db *sql.DB) map[string]string {
	all := make(map[string]string)
	for key, query := range map[string]string{
		"": "SELECT name, 'a table' FROM sqlite_schema WHERE type = 'table' AND name LIKE 'husk_%'",
		"columns": `SELECT m.name || '.' || c.name, CASE WHEN c."notnull" = 0 AND c.pk = 0 OR c.dflt_value IS NOT NULL THEN '' ELSE 'required ' END || c.type || c."notnull" || c.pk || coalesce(c.dflt_value, '')` +
			" FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name LIKE 'husk_%'",
		"unique":   "SELECT m.name || ': a unique index ' || (SELECT group_concat(coalesce(name, 'an expression')) FROM pragma_index_info(i.name)) || coalesce((SELECT substr(sql, instr(sql, ' WHERE ')) FROM sqlite_schema WHERE name = i.name AND sql LIKE '% WHERE %'), ''), 'one' FROM sqlite_schema m, pragma_index_list(m.name) i WHERE i.\"unique\" = 1 AND m.name LIKE 'husk_%'",
		"triggers": "SELECT tbl_name || ': a trigger ' || name, sql FROM sqlite_schema WHERE type = 'trigger'",
		"foreign":  `SELECT m.name || ': a foreign key ' || f."from", f."table" || f."to" || f.on_delete FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
		"checks":   "SELECT name || ': a check', sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%CHECK%'",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err, key)
		for rows.Next() {
			var part, is string
			require.NoError(t, rows.Scan(&part, &is))
			all[part] = is
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	}
	return all
}
