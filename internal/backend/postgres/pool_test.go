package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// connections has many tenants use a database at once: they share a few connections, which end when nobody needs them.
func connections(t *testing.T, s *postgrestest.Server) {
	const tenants, most, idle = 30, 5, 4
	ctx := t.Context()
	const application = "many-tenants"
	connect := func(idleTime string) (all []*backend.Backend) {
		for n := range tenants {
			b, err := postgres.OpenSchema(ctx, named.ByOperator(fmt.Sprintf("%s&application_name=%s&pool_max_conns=%d&pool_max_conn_idle_time=%s", s.URL("postgres", 0), application, most, idleTime), "the test"),
				fmt.Sprint("tenant_", n), t.TempDir())

			require.NoError(t, err)
			all = append(all, b)
		}
		return all
	}
	all := connect("1h")
	conn, err := pgconn.Connect(ctx, s.URL("postgres", 0))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	count := func() int {
		results, err := conn.Exec(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = '"+application+"'").ReadAll()
		require.NoError(t, err)
		n, err := strconv.Atoi(string(results[0].Rows[0][0]))
		require.NoError(t, err)
		return n
	}
	use := func(all []*backend.Backend) {
		var work sync.WaitGroup
		errs := make([]error, len(all))
		for n, b := range all {
			work.Go(func() { errs[n] = b.Check(ctx) })
		}
		done := make(chan struct{})
		go func() { work.Wait(); close(done) }()
		// A server whose connection has ended may take a moment to go.
		seen := 0
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
				seen = max(seen, count())
			}
		}
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.LessOrEqual(t, seen, 2*most)
	}
	until := func(want int) {
		t.Helper()
		for count() > want {
			time.Sleep(10 * time.Millisecond)
		}
	}
	use(all)
	until(idle)
	for _, b := range all[1:] {
		b.Close()
	}
	_, err = all[0].State.Load(ctx, stack)
	require.ErrorIs(t, err, state.ErrStackNotFound, "the others have ended, and this one goes on")
	all[0].Close()
	until(0)

	all = connect("20ms")
	use(all)
	until(0) // although they are open
	use(all)
	for _, b := range all {
		b.Close()
	}
}

// TestParametersOfPools has a URL with parameters that pgx understands and a server does not.
func TestParametersOfPools(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	u, err := url.Parse(s.URL("postgres", 0))
	require.NoError(t, err)
	query := u.Query()
	for name, value := range map[string]string{
		"default_query_exec_mode": "exec", "statement_cache_capacity": "0", "description_cache_capacity": "0",
		"pool_max_conns": "2", "pool_min_conns": "1", "pool_max_conn_idle_time": "30s",
	} {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	require.NoError(t, open(t, u.String()).Check(t.Context()))
	for parameter, want := range map[string]string{"pool_max_conns=0": "a number from 1 on", "pool_max_conn_idle_time=soon": "a time such as 5m"} {
		_, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&"+parameter, "the test"), t.TempDir())
		require.ErrorContains(t, err, want)
	}
}
