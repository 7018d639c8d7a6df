package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// A function does what its body says, and is known by the types of its arguments.
func TestFunction(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	s.Execute(t, "postgres", `CREATE SCHEMA "s""1"; CREATE TYPE "s""1"."my type" AS (a integer)`)

	inputs := pt.Object{"name": `in"c`, "schema": `s"1`, "body": "BEGIN\n  RETURN i * coalesce(\"by\", 1); -- it's $$1\nEND", "returns": "int",
		"args": pt.List{pt.Object{"name": "i", "type": "int"}, pt.Object{"name": "by", "type": "numeric(10, 2)", "default": "length('a;''b')"}}}
	made := settled(p, p.Create(function, inputs), inputs)
	require.Equal(t, `postgres.s"1.in"c(integer, numeric)`, made.ID)
	call := func(sql string) any { return ask(p, "SELECT "+sql+" AS r") }
	require.Equal(t, rows(pt.Object{"r": "8"}), call(`"s""1"."in""c"(2)`))
	found, err := p.TryImport(function, made.ID)
	require.NoError(t, err)
	require.Equal(t, made.ID, found.ID)
	settled(p, found, pt.With(inputs, pt.Object{"returns": "integer", "args": pt.List{pt.Object{"name": "i", "type": "integer"},
		pt.Object{"name": "by", "type": "numeric", "default": "length('a;''b'::text)"}}}))

	s.Execute(t, "postgres", `CREATE ROLE caller; GRANT EXECUTE ON FUNCTION "s""1"."in""c" TO caller`)
	inputs = pt.With(inputs, pt.Object{"body": "SELECT i + by::integer", "language": "sql", "volatility": "IMMUTABLE", "parallel": "SAFE", "strict": true, "securityDefiner": true})
	made = update(p, made, inputs, "body update", "language update", "parallel update", "securityDefiner update", "strict update", "volatility update")
	require.Equal(t, rows(pt.Object{"r": "6"}), call(`"s""1"."in""c"(2)`))
	require.Equal(t, rows(pt.Object{"r": "t"}), ask(p, `SELECT proacl::text LIKE '%caller=X%' AS r FROM pg_proc WHERE proname = 'in"c'`))
	s.Execute(t, "postgres", `CREATE OR REPLACE FUNCTION "s""1"."in""c"(i integer, by numeric DEFAULT 1) RETURNS integer LANGUAGE sql STABLE AS 'SELECT 1'`)
	refreshed, _ := p.Refresh(made)
	require.Equal(t, []string{"body update", "parallel update", "securityDefiner update", "strict update", "volatility update"}, p.Diff(refreshed, inputs))
	made = settled(p, p.Update(refreshed, inputs), inputs)
	s.Execute(t, "postgres", `DROP FUNCTION "s""1"."in""c"; CREATE FUNCTION "s""1"."in""c"(i integer, by numeric) RETURNS text LANGUAGE sql AS 'SELECT 1::text'`)
	refreshed, _ = p.Refresh(made)
	require.Contains(t, p.Diff(refreshed, inputs), "returns update-replace")
	gone(p, made)
	gone(p, made)

	for name, inputs := range map[string]pt.Object{
		"of a type of its own": {"args": pt.List{pt.Object{"type": `"s""1"."my type"[]`, "mode": "VARIADIC"}}, "returns": `SETOF "s""1"."my type"`, "language": "sql", "body": "SELECT 1"},
		"with results":         {"args": pt.List{pt.Object{"type": "int", "name": "a"}, pt.Object{"type": "text", "name": "b", "mode": "OUT"}, pt.Object{"type": "int", "name": "c", "mode": "INOUT"}}, "body": "BEGIN b := a; END"},
		"of a table":           {"returns": "TABLE(a int, b text)", "body": "BEGIN RETURN; END"},
		"of nothing":           {"body": "as $x$BEGIN END$x$;"},
		"of a trigger":         {"returns": "TRIGGER", "body": "  AS $$\nBEGIN RETURN NEW; END\n$$"},
	} {
		t.Run(name, func(t *testing.T) {
			p := p.In(t)
			inputs := pt.With(inputs, pt.Object{"name": "f", "schema": `s"1`})
			made := settled(p, p.Create(function, inputs), inputs)
			again := settled(p, p.Create(function, inputs), inputs)
			require.Equal(t, made.State, again.State)
			found, err := p.TryImport(function, made.ID)
			require.NoError(t, err)
			require.Equal(t, made.State.Get("returns").Kind(), found.State.Get("returns").Kind())
			require.NotContains(t, made.Text("body"), "$")
			gone(p, made)
		})
	}

	cascade := pt.Object{"name": "g", "body": "SELECT 1", "language": "sql", "returns": "integer", "volatility": "IMMUTABLE"}
	made = p.Create(function, cascade)
	require.Equal(t, "postgres.public.g()", made.ID)
	s.Execute(t, "postgres", "CREATE VIEW public.v AS SELECT public.g()")
	require.ErrorContains(t, p.TryDelete(made), "view public.v depends on function public.g()")
	made = update(p, made, pt.With(cascade, pt.Object{"dropCascade": true}), "dropCascade update")
	gone(p, made)

	_, err = p.TryImport(function, "postgres.g()")
	require.ErrorContains(t, err, "the ID is to be database.schema.name(types)")
	for _, wrong := range []string{"int) RETURNS int", "int; DROP TABLE x", "int -- ", "int, int", "E'\\'", "'", `"`, "int /* ", "$$"} {
		require.Len(t, p.Failures(function, pt.Object{"body": "", "returns": wrong, "args": pt.List{pt.Object{"type": wrong, "default": wrong}}}), 3, wrong)
	}
}
