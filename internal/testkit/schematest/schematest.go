// Package schematest finds changes of tables that programs of earlier versions could trip over. Such programs go on using a database that
// a newer one has changed.
package schematest

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Parts are the parts of tables on which statements depend, each with what it is: tables, columns as TABLE.COLUMN, and what rows must keep,
// as "TABLE: what".
type Parts map[string]string

// required begins the description of a column without a default.
const required = "required "

// sqlite has queries, by their subject, whose rows are the parts of a database of SQLite and their descriptions.
var sqlite = map[string]string{
	"tables": "SELECT name, 'a table' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
	"columns": `SELECT m.name || '.' || c.name, CASE WHEN c."notnull" = 0 AND c.pk = 0 OR c.dflt_value IS NOT NULL THEN '' ELSE '` + required + `' END || c.type || c."notnull" || c.pk || coalesce(c.dflt_value, '')` +
		" FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
	"unique":   "SELECT m.name || ': a unique index ' || (SELECT group_concat(coalesce(name, 'an expression')) FROM pragma_index_info(i.name)) || coalesce((SELECT substr(sql, instr(sql, ' WHERE ')) FROM sqlite_schema WHERE name = i.name AND sql LIKE '% WHERE %'), ''), 'one' FROM sqlite_schema m, pragma_index_list(m.name) i WHERE i.\"unique\" = 1",
	"triggers": "SELECT tbl_name || ': a trigger ' || name, sql FROM sqlite_schema WHERE type = 'trigger'",
	"foreign":  `SELECT m.name || ': a foreign key ' || f."from", f."table" || coalesce(f."to", '') || f.on_delete FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
	"checks":   "SELECT name || ': a check', sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%CHECK%'",
}

// PostgreSQL has such queries for a schema of PostgreSQL, whose name is their argument. Functions are parts as well.
var PostgreSQL = map[string]string{
	"tables": "SELECT c.relname::text, 'a table' FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = $1::regnamespace",
	"columns": "SELECT c.relname || '.' || a.attname, CASE WHEN a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' THEN '" + required + "' ELSE '' END || format_type(a.atttypid, a.atttypmod) || a.attnotnull::text || a.attidentity::text ||" +
		" coalesce(pg_get_expr(d.adbin, d.adrelid), '') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum" +
		" WHERE c.relkind = 'r' AND c.relnamespace = $1::regnamespace",
	"unique":      "SELECT c.relname || ': a unique index ' || regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING ', ''), 'one' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique AND c.relnamespace = $1::regnamespace AND c.relkind = 'r'",
	"triggers":    "SELECT c.relname || ': a trigger ' || t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND c.relnamespace = $1::regnamespace",
	"constraints": "SELECT c.relname || CASE o.contype WHEN 'f' THEN ': a foreign key ' ELSE ': a check ' END || o.conname, pg_get_constraintdef(o.oid) FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid WHERE o.contype IN ('f', 'c') AND c.relnamespace = $1::regnamespace",
	"functions":   "SELECT p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', 'a function of ' || pg_get_function_result(p.oid) FROM pg_proc p WHERE p.pronamespace = $1::regnamespace",
}

// SQLite returns the parts of the tables of a database of SQLite.
func SQLite(t *testing.T, db *sql.DB) Parts {
	t.Helper()
	all := make(Parts)
	for subject, query := range sqlite {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err, subject)
		for rows.Next() {
			var part, is string
			require.NoError(t, rows.Scan(&part, &is))
			all[part] = is
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	}
	return all
}

// Broken returns what changes take from programs of the versions from least on, which go on using the tables after all changes. after has
// the tables after each number of changes, and unused has columns, as TABLE.COLUMN, and tables that programs no longer use from a version on.
func Broken(after []Parts, least int, unused map[string]int) (found []string) {
	newest := len(after) - 1
	now := after[newest]
	for version := least; version < newest; version++ {
		was := after[version]
		for _, part := range slices.Sorted(maps.Keys(was)) {
			from, ok := unused[part]
			if all, is := unused[tableOf(part)]; is {
				from, ok = all, is
			}
			if is, there := now[part]; (!there || is != was[part]) && (!ok || version < from) {
				found = append(found, fmt.Sprintf("version %d uses %s, which was %q, and is %q", version, part, was[part], is))
			}
		}
		for _, part := range slices.Sorted(maps.Keys(now)) {
			_, known := was[part]
			_, knownTable := was[tableOf(part)]
			isColumn := strings.Contains(part, ".")
			if !known && knownTable && (!isColumn || strings.HasPrefix(now[part], required)) {
				found = append(found, fmt.Sprintf("version %d writes without %s, which is %s", version, part, now[part]))
			}
		}
	}
	return found
}

// tableOf returns the table of a part.
func tableOf(part string) string { return part[:strings.IndexAny(part+".", ".:")] }
