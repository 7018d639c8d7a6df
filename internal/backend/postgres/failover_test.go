package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

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

var stack = state.StackName{Project: "p", Name: "s"}

// leased makes a stack, and leases and loads it.
func leased(t *testing.T, b *backend.Backend) state.Lease {
	require.NoError(t, b.State.Create(t.Context(), stack, []byte("{}")))
	return leaseAgain(t, b)
}

func leaseAgain(t *testing.T, b *backend.Backend) state.Lease {
	l, err := b.State.Lease(t.Context(), stack, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(t.Context())
	require.NoError(t, err)
	return l
}

// TestFailover kills a primary server in the middle of a run, and promotes its synchronous replica. The run goes
// on there with the lease that it has, and nothing that was confirmed is lost.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	replica := primary.Replica(t)
	servers := fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", primary.Port, replica.Port)
	url := strings.Replace(primary.URL("postgres", 0), fmt.Sprint("127.0.0.1:", primary.Port), servers, 1) + "&target_session_attrs=read-write"
	b, err := postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	ctx := t.Context()
	l := leased(t, b)
	const records, before = 40, 20
	confirmed, ended := make(chan uint64, records), make(chan error, 1)
	go func() {
		defer close(confirmed)
		for n := range uint64(records) {
			if err := l.Append(ctx, n+1, fmt.Append(nil, "record ", n+1)); err != nil {
				ended <- err
				return
			}
			confirmed <- n + 1
		}
		ended <- nil
	}()
	for range before {
		<-confirmed
	}
	primary.Stop()
	replica.Promote(t)
	require.NoError(t, <-ended)
	c, err := b.State.Load(ctx, stack)
	require.NoError(t, err)
	require.Len(t, c.Records, records, "each record is there once")
	for n, r := range c.Records {
		require.Equal(t, fmt.Sprint("record ", n+1), string(r))
	}
	require.NoError(t, l.Checkpoint(ctx, records, []byte(`{"all":true}`)))
	_, err = b.State.Lease(ctx, stack, state.Holder{PID: 2})
	require.ErrorIs(t, err, state.ErrLocked)
	require.NoError(t, l.Release(ctx))
}

// TestHistoryOfFailovers kills primary servers while several writers use a stack, and promotes their synchronous replicas.
// Some writers reach a replica before it is promoted.
func TestHistoryOfFailovers(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	replica := primary.Replica(t)
	var proxies []*faultproxy.Proxy
	route := func(s *postgrestest.Server) {
		for _, p := range proxies {
			p.Route(fmt.Sprint("127.0.0.1:", s.Port))
		}
	}
	open := func(int) state.Store {
		proxy := faultproxy.Start(t, fmt.Sprint("127.0.0.1:", primary.Port))
		proxies = append(proxies, proxy)
		b, err := postgres.Open(t.Context(), named.ByOperator(primary.URL("postgres", proxy.Port())+"&target_session_attrs=read-write", "the test"), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		require.NoError(t, b.Check(t.Context()))
		return b.State
	}
	failover := func(random *rand.Rand) {
		primary.Stop()
		if random.IntN(2) == 0 {
			route(replica)
		}
		replica.Promote(t)
		route(replica)
		primary, replica = replica, replica.Replica(t)
	}
	backendtest.History(t, open, backendtest.Fault{Times: 5, Cause: faultproxy.Faults(&proxies)}, backendtest.Fault{Every: 4, Times: 3, Cause: failover})
}

// clockJumps has a lease end too early, as if the server's clock had jumped ahead, and last too long, as if it had
// jumped back. The first is fenced, the second can be broken.
func clockJumps(t *testing.T, s *postgrestest.Server) {
	b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0)+"&schema=clock", "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	ctx := t.Context()
	l := leased(t, b)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	s.Execute(t, "postgres", "UPDATE clock.stacks SET expires = expires - interval '1 day'")
	next := leaseAgain(t, b)
	require.Greater(t, next.Token(), l.Token())
	require.ErrorIs(t, l.Append(ctx, 2, []byte("lost")), state.ErrFenced)
	require.NoError(t, next.Append(ctx, 2, []byte("two")))
	require.NoError(t, l.Release(ctx))
	require.NoError(t, next.Append(ctx, 3, []byte("three")), "the former holder does not end the lease of the next one")

	s.Execute(t, "postgres", "UPDATE clock.stacks SET expires = expires + interval '1 day'")
	_, err = b.State.Lease(ctx, stack, state.Holder{PID: 3})
	require.ErrorIs(t, err, state.ErrLocked)
	require.NoError(t, b.State.Break(ctx, stack))
	last := leaseAgain(t, b)
	require.ErrorIs(t, next.Append(ctx, 4, []byte("lost")), state.ErrFenced)
	require.NoError(t, last.Release(ctx))
	require.NoError(t, next.Release(ctx))
	c, err := b.State.Load(ctx, stack)
	require.NoError(t, err)
	require.Len(t, c.Records, 3)
}

// TestPgBouncer runs the suites through a pooler that gives each transaction to any of a few connections.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	port := s.Pooler(t)
	url := s.URL("postgres", port)
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return open(t, url).State })
	})
	t.Run("backend", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) *backend.Backend { return open(t, url) })
	})
	t.Run("history", func(t *testing.T) {
		url := fmt.Sprintf("%s&schema=pooled_%d", url, schemas.Add(1))
		backendtest.History(t, func(int) state.Store {
			b, err := postgres.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
			require.NoError(t, err)
			t.Cleanup(b.Close)
			require.NoError(t, b.Check(t.Context()))
			return b.State
		})
	})
}
