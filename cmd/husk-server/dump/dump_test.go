package dump_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/dump"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// serving is a server that serves.
type serving struct {
	*server.Server
	t   *testing.T
	url string
}

const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func open(t *testing.T, o server.Options) *serving {
	t.Setenv(server.KeyVariable, key)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := server.Open(t.Context(), o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Stop()
		h.Close()
		require.NoError(t, s.Close())
	})
	return &serving{s, t, h.URL}
}

func (s *serving) call(token, method, path string, in, out any) {
	s.t.Helper()
	client, err := runapi.NewClient(s.url, token)
	require.NoError(s.t, err)
	_, err = client.Call(s.t.Context(), method, path, in, out)
	require.NoError(s.t, err, path)
}

func (s *serving) issue(team, name string, role runapi.Role) string {
	token, err := s.IssueToken(s.t.Context(), runapi.Token{Tenant: team, Name: name, Role: role})
	require.NoError(s.t, err)
	return token.Secret
}

func (s *serving) stacks(token string) *backend.Backend {
	opened, err := remote.Open(s.t.Context(), named.ByOperator(strings.Replace(s.url, "://", "://:"+token+"@", 1), "the test"), s.t.TempDir())
	require.NoError(s.t, err)
	s.t.Cleanup(opened.Close)
	return opened
}

func (s *serving) export() []byte {
	var b bytes.Buffer
	require.NoError(s.t, s.Export(s.t.Context(), &b))
	return b.Bytes()
}

// lines returns the rows of a file by table, and the columns of each.
func lines(t *testing.T, file []byte) (rows map[string][]string, columns map[string][]string) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	rows, columns = make(map[string][]string), make(map[string][]string)
	var table string
	for from := json.NewDecoder(z); ; {
		var next struct {
			Team, Table string
			Columns     []string
			Row         json.RawMessage
		}
		if err := from.Decode(&next); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		if next.Table != "" {
			table = next.Team + "/" + next.Table
			columns[table] = next.Columns
		}
		if next.Row != nil {
			rows[table] = append(rows[table], string(next.Row))
		}
	}
	delete(rows, "/husk_counted") // a server notes there that it runs
	for _, all := range rows {
		slices.Sort(all) // a query without an order has any
	}
	return rows, columns
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// All that a server keeps moves to another database and back, to the last column. Workers go on with their runs there.
func TestMove(t *testing.T) {
	p := postgrestest.Start(t)
	first := open(t, server.Options{})
	ann, admin, worker := first.issue("acme", "ann", runapi.Request), first.issue("acme", "admin", runapi.Admin), first.issue("acme", "w", runapi.Work)
	first.issue("blue", "bob", runapi.Read)
	name := state.StackName{Project: "shop", Name: "dev"}
	stacks := first.stacks(ann)
	ctx := t.Context()
	require.NoError(t, stacks.State.Create(ctx, name, []byte("{}")))
	lease, contents, err := stacks.State.LeaseAndLoad(ctx, name, state.Holder{})
	require.NoError(t, err)
	at := contents.Sequence
	require.NoError(t, lease.Append(ctx, at+1, []byte("one\x00\xff")))
	require.NoError(t, lease.Checkpoint(ctx, at+1, []byte(`{"now":1}`)))
	require.NoError(t, lease.Append(ctx, at+2, []byte("two")))
	require.NoError(t, stacks.State.SetHistory(ctx, name, [][]byte{[]byte(`{"version":1}`)}))
	_, err = stacks.KV.Save(ctx, name, "lab", []byte("kept"), "")
	require.NoError(t, err)
	require.NoError(t, stacks.History.Put(ctx, name, "20260101T000000Z-1", []byte("a record")))
	require.NoError(t, stacks.Modules.Put(ctx, digest("module"), func() ([]byte, error) { return []byte("module"), nil }))
	require.NoError(t, lease.Release(ctx))

	client, err := runapi.NewClient(first.url, ann)
	require.NoError(t, err)
	require.NoError(t, client.SendBundle(ctx, digest("files"), []byte("files")))
	first.call(admin, http.MethodPut, "/v1/schedules/drift", runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "shop", Stack: "dev", Operation: "refresh", Bundle: digest("files"), Options: []string{"--preview-only=true"}}}, nil)
	var planned, running, queued runapi.Run
	var claim runapi.Claim
	next := runapi.NewRun{Project: "shop", Stack: "planned", Operation: "up", Bundle: digest("files"), Approval: true}
	ask := runapi.Ask{Worker: "w", Slots: 1}
	first.call(ann, http.MethodPost, "/v1/runs", next, &planned)
	first.call(worker, http.MethodPost, "/v1/work/next", ask, &claim)
	first.call(claim.Token, http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded, Plan: []byte("a plan")}, nil)
	next.Stack, next.Approval = "running", false
	first.call(ann, http.MethodPost, "/v1/runs", next, &running)
	claim = runapi.Claim{}
	first.call(worker, http.MethodPost, "/v1/work/next", ask, &claim)
	require.Equal(t, running.ID, claim.ID)
	next.Stack = "queued"
	first.call(ann, http.MethodPost, "/v1/runs", next, &queued)

	file := first.export()
	rows, columns := lines(t, file)
	for _, table := range []string{"acme/stacks", "acme/checkpoints", "acme/journal", "acme/backups", "acme/history", "acme/runs", "acme/kv", "acme/modules", "acme/kept",
		"/husk_tenants", "/husk_tokens", "/husk_runs", "/husk_plans", "/husk_bundles", "/husk_contents", "/husk_schedules", "/husk_workers", "/husk_audit", "/husk_lines"} {
		require.NotEmpty(t, rows[table], table)
	}
	require.NotContains(t, slices.Collect(maps.Keys(columns)), "/husk_schema")

	o := server.Options{Database: p.URL("postgres", 0)}
	second := open(t, o)
	damaged := slices.Clone(file)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	require.ErrorContains(t, second.Import(ctx, bytes.NewReader(damaged)), "the file is not whole")
	require.ErrorContains(t, second.Import(ctx, bytes.NewReader(file[:len(file)/2])), "the file is not whole")
	require.NoError(t, second.Import(ctx, bytes.NewReader(file)), "what failed has left nothing")
	moved, movedColumns := lines(t, second.export())
	require.Equal(t, rows, moved)
	require.Equal(t, columns, movedColumns)
	for _, again := range []*serving{first, second} {
		require.ErrorIs(t, again.Import(ctx, bytes.NewReader(file)), dump.ErrNotEmpty)
	}

	// What is there is used as it was.
	var list []runapi.Run
	second.call(ann, http.MethodGet, "/v1/runs", nil, &list)
	require.Len(t, list, 3)
	require.Equal(t, []runapi.State{runapi.Queued, runapi.Running, runapi.Waiting}, []runapi.State{list[0].State, list[1].State, list[2].State})
	second.call(claim.Token, http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
	second.call(claim.Token, http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, nil)
	there := second.stacks(ann)
	is, err := there.State.Load(ctx, name)
	require.NoError(t, err)
	require.Equal(t, `{"now":1}`, string(is.Checkpoint))
	require.Equal(t, [][]byte{[]byte("two")}, is.Records)
	require.NoError(t, there.State.Create(ctx, state.StackName{Project: "shop", Name: "new"}, []byte("{}")), "its number is one that no other stack has")
	next.Stack = "new"
	second.call(ann, http.MethodPost, "/v1/runs", next, nil)
	due(t, o.Database)
	claim = runapi.Claim{}
	for claim.Operation != "refresh" { // the schedule goes on
		ask.Seconds, claim = 50, runapi.Claim{}
		second.call(worker, http.MethodPost, "/v1/work/next", ask, &claim)
		require.NotEmpty(t, claim.ID)
		second.call(claim.Token, http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, nil)
	}

	back := server.Options{Dir: t.TempDir()}
	third := open(t, back)
	require.NoError(t, third.Import(ctx, bytes.NewReader(file)))
	again, _ := lines(t, third.export())
	require.Equal(t, rows, again)
	returned := open(t, server.Options{})
	require.NoError(t, returned.Import(ctx, bytes.NewReader(second.export())))
	one, _ := lines(t, second.export())
	other, _ := lines(t, returned.export())
	require.Equal(t, one, other)

	// Stacks that are there already stay.
	left := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(left, "tenants"), os.DirFS(filepath.Join(back.Dir, "tenants"))))
	require.ErrorContains(t, open(t, server.Options{Dir: left}).Import(ctx, bytes.NewReader(file)), "the database is not empty: import into one that no server has used (stacks has rows)")
	require.FileExists(t, filepath.Join(left, "tenants", "acme.db"))

	// The key of the server is not in the file.
	t.Setenv(server.KeyVariable, strings.Repeat("ab", 32))
	dir := t.TempDir()
	keyless, err := server.Open(ctx, server.Options{Dir: dir})
	require.NoError(t, err)
	require.ErrorContains(t, keyless.Import(ctx, bytes.NewReader(file)), "is encrypted with the key of another server")
	require.NoError(t, keyless.Close())
	require.NoFileExists(t, filepath.Join(dir, "tenants", "acme.db"))
}

func connect(t *testing.T, database string) *sql.DB {
	db, err := sql.Open("pgx", database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// due has the schedule begin now.
func due(t *testing.T, database string) {
	db := connect(t, database)
	done, err := db.ExecContext(t.Context(), "UPDATE river_job SET scheduled_at = now() WHERE kind = 'husk_schedule'")
	require.NoError(t, err)
	n, err := done.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	_, err = db.ExecContext(t.Context(), "UPDATE husk_schedules SET next = CAST(extract(epoch FROM now()) * 1000 AS bigint)")
	require.NoError(t, err)
}

// A file has each table and each column that the databases of stacks have.
func TestTablesOfStacks(t *testing.T) {
	o := server.Options{Dir: t.TempDir()}
	s := open(t, o)
	s.issue("acme", "ann", runapi.Read)
	_, columns := lines(t, s.export())
	want := map[string]string{}
	for table, names := range columns {
		if name, is := strings.CutPrefix(table, "acme/"); is {
			want[name] = strings.Join(names, " ")
		}
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(o.Dir, "tenants", "acme.db")))
	require.NoError(t, err)
	defer db.Close()
	require.Equal(t, want, tablesOf(t, db, "SELECT m.name, (SELECT group_concat(name, ' ') FROM pragma_table_info(m.name)) FROM sqlite_schema m WHERE type = 'table'"))

	p := postgrestest.Start(t)
	database := p.URL("postgres", 0)
	s = open(t, server.Options{Database: database})
	s.issue("acme", "ann", runapi.Read)
	s.export()
	// PostgreSQL has these in other tables.
	want["stacks"] = strings.Replace(want["stacks"], " written ", " checkpoint written ", 1)
	want["modules"] += " kept"
	delete(want, "checkpoints")
	delete(want, "kept")
	want["meta"] = "version least"
	require.Equal(t, want, tablesOf(t, connect(t, database), "SELECT table_name::text, string_agg(column_name, ' ' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = 'husk_acme' GROUP BY 1"))
}

func tablesOf(t *testing.T, db *sql.DB, query string) map[string]string {
	rows, err := db.QueryContext(context.Background(), query)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, columns string
		require.NoError(t, rows.Scan(&name, &columns))
		all[name] = columns
	}
	require.NoError(t, rows.Err())
	return all
}

// What is no such file changes nothing.
func TestOtherFiles(t *testing.T) {
	s := open(t, server.Options{})
	pack := func(text string) io.Reader {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return &b
	}
	var whole struct{ Schema int }
	z, err := gzip.NewReader(bytes.NewReader(s.export()))
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(z).Decode(&whole))
	begin := `{"format":"husk server export 1","schema":` + string(must(json.Marshal(whole.Schema))) + `}`
	for text, want := range map[string]string{
		"PK": "this is not a file of this version",
		`{"format":"husk server export 1","schema":99999}`:                       "the file has version 99999 of the server's tables",
		begin + `{"row":[1]}`:                                                    "a row is of no table",
		begin + `{"table":"pg_authid","columns":["rolname"]}`:                    `the file has the table "pg_authid", which`,
		begin + `{"table":"husk_turns","columns":["of"]}`:                        "has the columns of, not of, last, taken",
		begin + `{"team":"../x","table":"stacks","columns":[]}`:                  "which is not a valid name of a team",
		begin + `{"team":"acme","table":"sqlite_schema","columns":["sql"]}`:      "which this husk server does not know",
		begin + `{"team":"acme","table":"kv","columns":["stack"]}`:               "has the columns stack in the file",
		begin + `{"table":"husk_counted","columns":["at"]}{"row":[1]}{"rows":2}`: "it has 1 rows of 2",
		begin + `{"table":"husk_counted","columns":["at"]}{"row":[1]}`:           "the file is not whole",
		begin + `{"table":"husk_counted","columns":["at"]}{"row":[1]}{"more":1}`: "the file is not whole",
	} {
		require.ErrorContains(t, s.Import(t.Context(), pack(text)), want, text)
	}
	require.ErrorContains(t, s.Import(t.Context(), strings.NewReader("text")), "this is not a file of husk server export")

	// Files that cannot be removed afterwards are named.
	o := server.Options{Dir: t.TempDir()}
	stays := filepath.Join(o.Dir, "tenants", "acme.db-shm")
	require.NoError(t, os.MkdirAll(filepath.Join(stays, "x"), 0o700))
	require.ErrorContains(t, open(t, o).Import(t.Context(), pack(begin+`{"team":"acme","table":"stacks","columns":[]}`)), "remove "+stays)
	require.NoError(t, s.Import(t.Context(), bytes.NewReader(s.export())), "it is still empty")
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}
