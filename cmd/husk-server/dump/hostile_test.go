package dump_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/dump"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// part is a table of a file with its rows.
type part struct {
	Team    string   `json:"team,omitempty"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
	rows    [][]any
}

func (p *part) column(name string) int { return slices.Index(p.Columns, name) }

// contents are a file.
type contents struct {
	header string
	parts  []*part
}

func parse(t *testing.T, file []byte) *contents {
	z, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	c := &contents{header: all[0]}
	for _, line := range all[1 : len(all)-1] {
		var next struct {
			part
			Row []any
		}
		from := json.NewDecoder(strings.NewReader(line))
		from.UseNumber()
		require.NoError(t, from.Decode(&next))
		if next.Table != "" {
			c.parts = append(c.parts, &next.part)
		} else {
			last := c.parts[len(c.parts)-1]
			last.rows = append(last.rows, next.Row)
		}
	}
	return c
}

// of returns a table of a team, or of the server.
func (c *contents) of(team, table string) *part {
	return c.parts[slices.IndexFunc(c.parts, func(p *part) bool { return p.Team == team && p.Table == table })]
}

func (c *contents) drop(team, table string) {
	c.parts = slices.DeleteFunc(c.parts, func(p *part) bool { return p.Team == team && p.Table == table })
}

// pack returns the file, with more lines after its end.
func (c *contents) pack(t *testing.T, after ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = fmt.Fprintln(z, c.header)
	to, n := json.NewEncoder(z), 0
	for _, p := range c.parts {
		require.NoError(t, to.Encode(p))
		for _, row := range p.rows {
			require.NoError(t, to.Encode(map[string]any{"row": row}))
			n++
		}
	}
	_, _ = fmt.Fprintf(z, "{\"rows\":%d}\n%s", n, strings.Join(after, "\n"))
	require.NoError(t, z.Close())
	return b.Bytes()
}

// A file that somebody has changed, or that is not whole, is refused, and leaves nothing.
func TestHostileFiles(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { hostileFiles(t, server.Options{}) })
	t.Run("postgres", func(t *testing.T) {
		hostileFiles(t, server.Options{Database: postgrestest.Start(t).URL("postgres", 0)})
	})
}

func hostileFiles(t *testing.T, o server.Options) {
	ctx := t.Context()
	from := open(t, server.Options{})
	ann := from.issue("acme", "ann", runapi.Request)
	require.NoError(t, from.stacks(ann).State.Create(ctx, state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
	right := from.export()
	o.Dir = t.TempDir()
	s := open(t, o)
	var beside *sql.DB
	if o.Database != "" {
		beside = connect(t, o.Database)
	}
	left := func() (found []string) {
		if beside != nil {
			schemas := tablesOf(t, beside, "SELECT nspname::text, nspname::text FROM pg_namespace WHERE nspname LIKE 'husk%'")
			return slices.Collect(maps.Keys(schemas))
		}
		files, err := os.ReadDir(filepath.Join(o.Dir, "tenants"))
		if err == nil {
			for _, f := range files {
				found = append(found, f.Name())
			}
		}
		return found
	}
	refused := func(what string, file []byte, want string) {
		t.Helper()
		require.ErrorContains(t, s.Import(ctx, bytes.NewReader(file)), want, what)
		require.Empty(t, left(), what)
	}

	for what, c := range map[string]struct {
		change func(*contents)
		want   string
	}{
		"no table":           {func(c *contents) { c.drop("", "husk_audit") }, "the file is not whole: it has no table husk_audit"},
		"no table of a team": {func(c *contents) { c.drop("acme", "journal") }, "it has no table journal of the stacks of acme"},
		"no stacks":          {func(c *contents) { c.parts = slices.DeleteFunc(c.parts, func(p *part) bool { return p.Team != "" }) }, "it has no table stacks"},
		"a table twice": {func(c *contents) {
			c.parts = append(c.parts, &part{Table: "husk_audit", Columns: c.of("", "husk_audit").Columns})
		}, `the table "husk_audit" comes twice`},
		"a team in two places": {func(c *contents) {
			c.parts = append(c.parts, &part{Team: "blue", Table: "kv", Columns: c.of("acme", "kv").Columns}, c.of("acme", "kv"))
		}, "comes twice"},
		"stacks of no team": {func(c *contents) {
			for _, p := range slices.Clone(c.parts) {
				if p.Team == "acme" {
					other := *p
					other.Team = "blue"
					c.parts = append(c.parts, &other)
				}
			}
		}, "it has stacks of blue, and no such team"},
		"a token of no team": {func(c *contents) {
			p := c.of("", "husk_tokens")
			row := slices.Clone(p.rows[0])
			row[p.column("hash")], row[p.column("tenant")] = "00", "blue"
			p.rows = append(p.rows, row)
		}, `it has a token of the team "blue", and no such team`},
		"a team that the server's key has not encrypted": {func(c *contents) {
			p := c.of("", "husk_tenants")
			row := slices.Clone(p.rows[0])
			row[p.column("name")] = "../blue"
			p.rows = append(p.rows, row)
		}, "is encrypted with the key of another server"},
		"the same ID":    {func(c *contents) { p := c.of("", "husk_tokens"); p.rows = append(p.rows, p.rows[0]) }, ""},
		"the same stack": {func(c *contents) { p := c.of("acme", "stacks"); p.rows = append(p.rows, p.rows[0]) }, ""},
		"another type":   {func(c *contents) { p := c.of("", "husk_tokens"); p.rows[0][p.column("made")] = "yesterday" }, ""},
		"no value":       {func(c *contents) { p := c.of("", "husk_tokens"); p.rows[0][p.column("made")] = nil }, ""},
		"a fraction":     {func(c *contents) { p := c.of("", "husk_tokens"); p.rows[0][p.column("made")] = 1.5 }, "the file is not whole"},
		"a large number": {func(c *contents) {
			p := c.of("", "husk_tokens")
			p.rows[0][p.column("made")] = json.Number("9223372036854775808")
		}, "the file is not whole"},
		"a zero byte":      {func(c *contents) { p := c.of("", "husk_tokens"); p.rows[0][p.column("name")] = "ann\x00" }, "a text with a zero byte in name"},
		"a row too long":   {func(c *contents) { p := c.of("", "husk_tokens"); p.rows[0] = append(p.rows[0], "more") }, "a row is of no table"},
		"a path":           {func(c *contents) { p := c.of("acme", "stacks"); p.rows[0][p.column("project")] = "../../shop" }, "the file is damaged"},
		"a child of none":  {func(c *contents) { c.of("acme", "journal").rows = [][]any{{7, 1, map[string]any{"bytes": "AA=="}}} }, ""},
		"no count of time": {func(c *contents) { c.of("", "husk_counted").rows = nil }, "the table husk_counted has 0 rows"},
		"two of them":      {func(c *contents) { p := c.of("", "husk_counted"); p.rows = append(p.rows, p.rows[0]) }, "the table husk_counted has 2 rows"},
		"no turns":         {func(c *contents) { c.of("", "husk_turns").rows = nil }, "the table husk_turns has 0 rows"},
		"another version": {func(c *contents) {
			c.parts = append(c.parts, &part{Table: "husk_schema", Columns: []string{"version"}})
		}, `the table "husk_schema", which`},
		"a table of River": {func(c *contents) { c.parts = append(c.parts, &part{Table: "river_job", Columns: []string{"id"}}) }, `the table "river_job", which`},
	} {
		changed := parse(t, right)
		c.change(changed)
		refused(what, changed.pack(t), c.want)
	}
	refused("more after the end", parse(t, right).pack(t, `{"row":[1]}`), "it goes on after its end")
	refused("two files", slices.Concat(right, right), "it goes on after its end")
	for n := range 20 {
		refused(fmt.Sprintf("%d of 20 parts", n), right[:len(right)*n/20], "file")
	}
	back := dump.SetMaxLine(1 << 20)
	long := parse(t, right)
	long.of("", "husk_tokens").rows[0][0] = strings.Repeat("x", 2<<20)
	refused("a long line", long.pack(t), "a line has more than 1 MiB")
	back()

	require.NoError(t, s.Import(ctx, bytes.NewReader(parse(t, right).pack(t))), "nothing was left")
	found, err := s.stacks(ann).State.List(ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
}
