package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

var schemas atomic.Int32

// open opens a backend with tables of its own.
func open(t *testing.T, url string) *backend.Backend {
	b, err := postgres.Open(t.Context(), named.ByOperator(fmt.Sprintf("%s&schema=test_%d", url, schemas.Add(1)), "the test"), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	url := s.URL("postgres", 0)
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return open(t, url).State })
	})
	t.Run("backend", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) *backend.Backend { return open(t, url) })
	})
	t.Run("little", func(t *testing.T) {
		conn, err := pgconn.Connect(t.Context(), url)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close(context.Background())) }()
		backendtest.Little(t, open(t, url), func(t *testing.T) int64 {
			results, err := conn.Exec(t.Context(), "SELECT pg_current_wal_insert_lsn() - '0/0'").ReadAll()
			require.NoError(t, err)
			n, err := strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
			require.NoError(t, err)
			return n
		})
	})
	t.Run("fencing", func(t *testing.T) { backendtest.Fencing(t, open(t, url)) })
	t.Run("resuming", func(t *testing.T) {
		var both [2]*backend.Backend
		for i := range both {
			var err error
			both[i], err = postgres.Open(t.Context(), named.ByOperator(url+"&schema=resuming", "the test"), t.TempDir())
			require.NoError(t, err)
			t.Cleanup(both[i].Close)
		}
		backendtest.Resuming(t, both[0], both[1])
	})
	t.Run("newer schema", func(t *testing.T) { newerSchema(t, s) })
	t.Run("rights", func(t *testing.T) { rights(t, s) })
	t.Run("missing records", func(t *testing.T) { missingRecords(t, s) })
	t.Run("two processes make the tables", func(t *testing.T) { bothMigrate(t, s) })
	t.Run("history under faults", func(t *testing.T) { history(t, s) })
	t.Run("endings under faults", func(t *testing.T) { endings(t, s) })
	t.Run("history of processes that are killed and paused", func(t *testing.T) { processHistory(t, s) })
	t.Run("lost answers", func(t *testing.T) { lostAnswers(t, s) })
	t.Run("late requests", func(t *testing.T) { lateRequests(t, s) })
	t.Run("restart", func(t *testing.T) { restart(t, s) })
	t.Run("full disk", func(t *testing.T) { fullDisk(t, s) })
	t.Run("connections", func(t *testing.T) { connections(t, s) })
	t.Run("the server's clock jumps", func(t *testing.T) { clockJumps(t, s) })
}

func newerSchema(t *testing.T, s *postgrestest.Server) {
	url := s.URL("postgres", 0) + "&schema=newer"
	b, err := postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
	require.NoError(t, err)
	require.NoError(t, b.Check(t.Context()))
	b.Close()
	s.Execute(t, "postgres", "UPDATE newer.meta SET version = 99, least = 99")
	b, err = postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	_, err = b.State.List(t.Context())
	require.ErrorIs(t, err, backend.ErrNewerSchema)
	require.ErrorContains(t, err, "version 99")
	require.NotContains(t, err.Error(), s.Password)
	s.Execute(t, "postgres", "UPDATE newer.meta SET version = -1")
	_, err = b.State.List(t.Context())
	require.ErrorContains(t, err, `the table meta of the schema "newer" has the version -1, which no husk writes: restore a backup`)
}

// rights checks that a role that may only write rows can use tables that another has made, and that the
// error of one that may not says what to grant.
func rights(t *testing.T, s *postgrestest.Server) {
	s.Execute(t, "postgres", "CREATE ROLE team LOGIN PASSWORD 'team'")
	url := strings.Replace(s.URL("postgres", 0), "postgres:"+s.Password, "team:team", 1) + "&schema=shared"
	try := func() error {
		b, err := postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
		require.NoError(t, err)
		defer b.Close()
		return b.Check(t.Context())
	}
	require.ErrorContains(t, try(), "CREATE")
	b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=shared", "the test"), t.TempDir())
	require.NoError(t, err)
	require.NoError(t, b.Check(t.Context()))
	b.Close()
	s.Execute(t, "postgres", "GRANT USAGE ON SCHEMA shared TO team; GRANT SELECT ON ALL TABLES IN SCHEMA shared TO team")
	require.ErrorContains(t, try(), "grant the role team")
	s.Execute(t, "postgres", "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shared TO team")
	require.NoError(t, try())
}

func missingRecords(t *testing.T, s *postgrestest.Server) {
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	b, err := postgres.Open(ctx, named.ByOperator(s.URL("postgres", 0)+"&schema=gap", "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	for n := range uint64(3) {
		require.NoError(t, l.Append(ctx, n+1, []byte("x")))
	}
	s.Execute(t, "postgres", "DELETE FROM gap.journal WHERE sequence = 2")
	_, err = b.State.Load(ctx, name)
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "record 2 is missing")
	salvage, err := l.Salvage(ctx)
	require.NoError(t, err)
	require.Len(t, salvage.Records, 1)
	require.Len(t, salvage.Lost, 1)
	aside, err := l.Reset(ctx, []byte(`{"mended":true}`))
	require.NoError(t, err)
	require.Len(t, aside, 1)
	c, err := l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("next")))
	backups, err := b.State.Backups(ctx, name)
	require.NoError(t, err)
	kept, err := b.State.Backup(ctx, name, backups[0].ID)
	require.NoError(t, err)
	require.Len(t, kept.Records, 1)
	require.Len(t, kept.Lost, 1)
	// A server that fails over to a replica without the last record has lost what it confirmed.
	s.Execute(t, "postgres", "UPDATE gap.stacks SET last = last - 1")
	require.ErrorContains(t, l.Append(ctx, c.Sequence+2, []byte("after")), "has lost records")
	require.Error(t, l.Append(ctx, c.Sequence+2, []byte("after")), "the lease takes no more")
	require.NoError(t, l.Release(ctx))
}

func bothMigrate(t *testing.T, s *postgrestest.Server) {
	errs := make(chan error)
	for range 4 {
		go func() {
			b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=race", "the test"), t.TempDir())
			if err == nil {
				err = b.Check(t.Context())
				b.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://h/db?schema=Bad-Name":        "schema=",
		"postgres://user:secret@host:notaport/x": "form postgres://",
		"postgres://h/db?sslmode=perhaps":        "sslmode",
	} {
		_, err := postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	b, err := postgres.Open(t.Context(), named.ByOperator("postgresql://me:secret@db.example:6432/stacks?sslmode=require&schema=infra", "the test"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, "postgres://me@db.example:6432/stacks?schema=infra", b.Place)
}

// through opens a backend through a proxy.
func through(t *testing.T, s *postgrestest.Server, schema string) (*backend.Backend, *faultproxy.Proxy) {
	proxy := faultproxy.Start(t, fmt.Sprint("127.0.0.1:", s.Port))
	b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", proxy.Port())+"&schema="+schema, "the test"), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b, proxy
}

// faults are those of a server: it fails and recovers, and its clock jumps ahead.
func faults(t *testing.T, s *postgrestest.Server, schema string) []backendtest.Fault {
	return []backendtest.Fault{
		{Every: 6, Times: 2, Cause: func(*rand.Rand) { s.Restart(t) }},
		{Every: 3, Times: 2, Expires: true, Cause: func(*rand.Rand) { clockJumpsAhead(t, s, schema) }},
	}
}

func clockJumpsAhead(t *testing.T, s *postgrestest.Server, schema string) {
	s.Execute(t, "postgres", "UPDATE "+schema+".stacks SET expires = expires - interval '1 day'")
}

func history(t *testing.T, s *postgrestest.Server) {
	var proxies []*faultproxy.Proxy
	open := func(int) state.Store {
		b, proxy := through(t, s, "history")
		require.NoError(t, b.Check(t.Context()))
		proxies = append(proxies, proxy)
		return b.State
	}
	backendtest.History(t, open, append(faults(t, s, "history"), backendtest.Fault{Times: 40, Cause: faultproxy.Faults(&proxies)})...)
}

// processHistory has the writers be processes that are killed and paused.
func processHistory(t *testing.T, s *postgrestest.Server) {
	const schema = "processes"
	var proxies []*faultproxy.Proxy
	processes := backendtest.NewProcesses(t)
	open := func(n int) state.Store {
		proxies = append(proxies, faultproxy.Start(t, fmt.Sprint("127.0.0.1:", s.Port)))
		return processes.Open(n, s.URL("postgres", proxies[len(proxies)-1].Port())+"&schema="+schema)
	}
	backendtest.History(t, open, append(faults(t, s, schema), backendtest.Fault{Every: 2, Times: 5, Cause: faultproxy.Faults(&proxies)},
		processes.Kill(false, 10), processes.Pause(func() { clockJumpsAhead(t, s, schema) }, 5))...)
}

// TestMain is also that of the writers of processHistory.
func TestMain(m *testing.M) {
	backendtest.Main(m, func(ctx context.Context, url string) (state.Store, error) {
		b, err := postgres.Open(ctx, named.ByOperator(url, "the test"), "")
		if err != nil {
			return nil, err
		}
		return b.State, nil
	})
}

// lostAnswers has the answer to each step of a lease get lost, and then the connection.
func lostAnswers(t *testing.T, s *postgrestest.Server) {
	b, proxy := through(t, s, "lost")
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	lost := func(step func() error) {
		t.Helper()
		require.NoError(t, b.Check(ctx)) // there is a connection
		proxy.Silence()
		cut := time.AfterFunc(100*time.Millisecond, proxy.Cut)
		defer cut.Stop()
		require.NoError(t, step())
	}
	lost(func() error { return b.State.Create(ctx, name, []byte("{}")) })
	var l state.Lease
	lost(func() (err error) {
		l, err = b.State.Lease(ctx, name, state.Holder{PID: 1})
		return err
	})
	_, err := l.Load(ctx)
	require.NoError(t, err)
	lost(func() error { return l.Append(ctx, 1, []byte("one")) })
	lost(func() error { return l.Append(ctx, 2, []byte("two")) })
	c, err := b.State.Load(ctx, name)
	require.NoError(t, err)
	require.Len(t, c.Records, 2, "each record is there once")
	lost(func() error { return l.Checkpoint(ctx, 2, []byte(`{"two":2}`)) })
	backups, err := b.State.Backups(ctx, name)
	require.NoError(t, err)
	require.Len(t, backups, 1, "the step was taken once")
	version := ""
	lost(func() (err error) {
		version, err = b.KV.Save(ctx, name, "aws", []byte("one"), "")
		return err
	})
	lost(func() (err error) {
		_, err = b.KV.Save(ctx, name, "aws", []byte("two"), version)
		return err
	})
	lost(func() error { return l.Rename(ctx, state.StackName{Project: "p", Name: "other"}, []byte("{}")) })
	lost(func() error { return l.Release(ctx) })
	lost(func() error {
		again, c, err := b.State.LeaseAndLoad(ctx, state.StackName{Project: "p", Name: "other"}, state.Holder{PID: 1})
		if err == nil {
			require.Equal(t, "{}", string(c.Checkpoint))
			err = again.Release(ctx)
		}
		return err
	})
	names, err := b.State.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.StackName{{Project: "p", Name: "other"}}, names)
}

// lateRequests has each step of a store arrive once more after it was repeated and answered, and others have gone on.
func lateRequests(t *testing.T, s *postgrestest.Server) {
	b, proxy := through(t, s, "late")
	direct, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=late", "the test"), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	// late returns after the step has been answered. What it returns has the first attempt arrive.
	late := func(step func() error) func() {
		t.Helper()
		require.NoError(t, b.Check(ctx)) // there is a connection
		deliver := proxy.Hold()
		cut := time.AfterFunc(100*time.Millisecond, proxy.Cut)
		defer cut.Stop()
		require.NoError(t, step())
		return func() {
			deliver()
			time.Sleep(200 * time.Millisecond) // for the server to do what it is told to
		}
	}
	// used takes the lease, and checks that it lasts while a late request arrives.
	used := func(record string, deliver func()) {
		t.Helper()
		l, c, err := direct.State.LeaseAndLoad(ctx, name, state.Holder{PID: 2})
		require.NoError(t, err)
		deliver()
		require.NoError(t, l.Append(ctx, c.Sequence+uint64(len(c.Records))+1, []byte(record)))
		require.NoError(t, l.Release(ctx))
	}

	hung, err := direct.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	used("after a break", late(func() error { return b.State.Break(ctx, name) }))
	require.NoError(t, hung.Release(ctx))

	var l state.Lease
	arrive := late(func() (err error) { l, err = b.State.Lease(ctx, name, state.Holder{PID: 1}); return err })
	_, err = l.Load(ctx)
	require.NoError(t, err)
	arrive()
	arrive = late(func() error { return l.Append(ctx, 2, []byte("once")) })
	require.NoError(t, l.Append(ctx, 3, []byte("next")))
	arrive()
	arrive = late(func() error { return l.Checkpoint(ctx, 3, []byte(`{"three":3}`)) })
	require.NoError(t, l.Append(ctx, 4, []byte("after")))
	arrive()
	used("after a release", late(func() error { return l.Release(ctx) }))

	c, err := direct.State.Load(ctx, name)
	require.NoError(t, err)
	require.Equal(t, `{"three":3}`, string(c.Checkpoint))
	require.Equal(t, [][]byte{[]byte("after"), []byte("after a release")}, c.Records)
}

// fullDisk has the server say what it says when it cannot extend a file.
func fullDisk(t *testing.T, s *postgrestest.Server) {
	b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=small", "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Check(t.Context()))
	var full, space strings.Builder
	full.WriteString(`CREATE OR REPLACE FUNCTION small.no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'could not extend file "base/5/16384": No space left on device' USING ERRCODE = 'disk_full';
	END $$;`)
	for _, table := range []string{"stacks", "journal", "backups", "kv", "modules", "runs", "history"} {
		fmt.Fprintf(&full, "CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON small.%s EXECUTE FUNCTION small.no_space();", table)
		fmt.Fprintf(&space, "DROP TRIGGER no_space ON small.%s;", table)
	}
	backendtest.FullDisk(t, b, func(is bool) {
		statements := space.String()
		if is {
			statements = full.String()
		}
		s.Execute(t, "postgres", statements)
	})
}

// restart has the server fail, and come back, while a run goes on.
func restart(t *testing.T, s *postgrestest.Server) {
	b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=restart", "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	s.Stop()
	appended := make(chan error)
	go func() { appended <- l.Append(ctx, 2, []byte("two")) }()
	s.Restart(t)
	require.NoError(t, <-appended)
	require.NoError(t, l.Release(ctx))
	c, err := b.State.Load(ctx, name)
	require.NoError(t, err)
	require.Len(t, c.Records, 2)
}

func endings(t *testing.T, s *postgrestest.Server) {
	var proxies []*faultproxy.Proxy
	backendtest.Endings(t, func(int) *backend.Backend {
		b, proxy := through(t, s, "endings")
		require.NoError(t, b.Check(t.Context()))
		proxies = append(proxies, proxy)
		return b
	}, faultproxy.Faults(&proxies))
}
