package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/schematest"
)

// Programs of all versions that go on using the tables find what they read and write after each migration. What they could trip over is
// found.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	conn, err := pgconn.Connect(t.Context(), s.URL("postgres", 0))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	schemas := 0
	broken := func(more ...string) []string {
		schemas++
		schema := fmt.Sprintf("of_%d", schemas)
		run := func(statement string) []*pgconn.Result {
			results, err := conn.Exec(t.Context(), statement).ReadAll()
			require.NoError(t, err, statement)
			return results
		}
		run("CREATE SCHEMA " + schema)
		after := make([]schematest.Parts, 1)
		for _, migration := range append(slices.Clone(migrations), more...) {
			run(strings.ReplaceAll(migration, "@", schema+"."))
			parts := make(schematest.Parts)
			for _, query := range schematest.PostgreSQL {
				for _, r := range run(strings.ReplaceAll(query, "$1", "'"+schema+"'"))[0].Rows {
					parts[string(r[0])] = string(r[1])
				}
			}
			after = append(after, parts)
		}
		return schematest.Broken(after, oldest, nil)
	}
	require.Empty(t, broken())
	for change, want := range map[string]string{
		"ALTER TABLE @stacks DROP COLUMN holder":                           "stacks.holder",
		"DROP TABLE @runs":                                                 "runs",
		"ALTER TABLE @stacks ADD COLUMN more text NOT NULL":                "stacks.more",
		"ALTER TABLE @stacks ALTER COLUMN holder SET NOT NULL":             "stacks.holder",
		"CREATE UNIQUE INDEX ON @stacks (holder)":                          "a unique index",
		"ALTER TABLE @stacks ADD CHECK (token < 7)":                        "a check",
		"ALTER TABLE @stacks ADD FOREIGN KEY (holder) REFERENCES @modules": "a foreign key",
		"DROP FUNCTION @hold":                                              "hold(of_stack bigint",
		"CREATE FUNCTION @x() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER x BEFORE INSERT ON @stacks EXECUTE FUNCTION @x()": "a trigger",
		"ALTER TABLE @stacks ADD COLUMN more text NOT NULL DEFAULT ''; CREATE TABLE @more (of text NOT NULL); CREATE INDEX ON @stacks (holder)":              "",
	} {
		found := broken(change)
		if want == "" {
			require.Empty(t, found, change)
			continue
		}
		require.Contains(t, fmt.Sprint(found), want, change)
	}
}

// A program goes on using tables after one of a later version has added to them, and refuses them once one has removed something.
func TestProgramsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	s, ctx := postgrestest.Start(t), t.Context()
	open := func() *backend.Backend {
		b, err := Open(ctx, named.ByOperator(s.URL("postgres", 0), "the test"), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b
	}
	upgrade := func(least int, more ...string) {
		all, was := migrations, oldest
		migrations, oldest = append(slices.Clone(all), more...), least
		defer func() { migrations, oldest = all, was }()
		found, err := open().State.List(ctx)
		require.NoError(t, err)
		require.Len(t, found, 1, "what a program of the version before has written")
	}
	running := open()
	name := state.StackName{Project: "shop", Name: "dev"}
	require.NoError(t, running.State.Create(ctx, name, []byte("{}")))
	s.Execute(t, "postgres", "ALTER TABLE husk.meta DROP COLUMN least") // as earlier programs made it
	require.NoError(t, open().Check(ctx))
	add := "ALTER TABLE @stacks ADD COLUMN more text NOT NULL DEFAULT ''; CREATE TABLE @more (of text NOT NULL)"
	upgrade(oldest, add)
	for _, b := range []*backend.Backend{running, open()} {
		require.NoError(t, b.Check(ctx))
		l, c, err := b.State.LeaseAndLoad(ctx, name, state.Holder{})
		require.NoError(t, err)
		require.NoError(t, l.Checkpoint(ctx, c.Sequence, []byte("{}")))
		require.NoError(t, l.Release(ctx))
	}
	upgrade(oldest, add) // it knows that it need not add again

	upgrade(len(migrations)+2, add, "ALTER TABLE @stacks DROP COLUMN holder")
	for _, b := range []*backend.Backend{running, open()} {
		_, err := b.State.Lease(ctx, name, state.Holder{})
		require.ErrorIs(t, err, backend.ErrNewerSchema)
		require.ErrorContains(t, err, "has version 3 of its schema, and this husk knows versions up to 1")
	}
}
