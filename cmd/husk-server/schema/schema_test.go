package schema_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/schema"
	"github.com/husk-dev/husk/internal/testkit/schematest"
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
	after := make([]schematest.Parts, len(changes)+1)
	for i, change := range changes {
		for _, statement := range schema.Statements(change, false) {
			_, err := db.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		after[i+1] = schematest.SQLite(t, db)
	}
	var least int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT least FROM husk_schema").Scan(&least))
	require.Positive(t, least)
	return schematest.Broken(after, least, unused)
}
