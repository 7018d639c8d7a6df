package postgres_test

import (
	"context"
	"fmt"
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

// TestWithoutReplica has the server commit each step while its synchronous replica is gone, and then end the wait for
// that, as it does when a client gives up or somebody interferes. The step is not confirmed before the replica has it.
func TestWithoutReplica(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	replica := primary.Replica(t)
	for _, interference := range []string{"pg_terminate_backend", "pg_cancel_backend"} {
		t.Run(interference, func(t *testing.T) { withoutReplica(t, primary, replica, interference) })
	}
}

func withoutReplica(t *testing.T, primary, replica *postgrestest.Server, interference string) {
	b, err := postgres.Open(t.Context(), named.ByOperator(primary.URL("postgres", 0)+"&schema=with_"+interference, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	ctx := t.Context()
	conn, err := pgconn.Connect(ctx, primary.URL("postgres", 0))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	// waiting returns the processes that have committed, and wait for the replica.
	waiting := func() (pids []string) {
		results, err := conn.Exec(ctx, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'").ReadAll()
		require.NoError(t, err)
		for _, row := range results[0].Rows {
			pids = append(pids, string(row[0]))
		}
		return pids
	}
	alone := func(what string, step func() error) {
		t.Helper()
		require.NoError(t, b.Check(ctx)) // there is a connection
		replica.Stop()
		done := make(chan error, 1)
		go func() { done <- step() }()
		// until returns when there is a process that waits, other than the one of pid.
		until := func(other string) string {
			t.Helper()
			for {
				select {
				case err := <-done:
					require.Fail(t, what+" was confirmed, and no replica has it", "%v", err)
				case <-time.After(10 * time.Millisecond):
				}
				for _, pid := range waiting() {
					if pid != other {
						return pid
					}
				}
			}
		}
		pid := until("")
		_, err := conn.Exec(ctx, fmt.Sprintf("SELECT %s(%s)", interference, pid)).ReadAll()
		require.NoError(t, err)
		until(pid)
		replica.Restart(t)
		require.NoError(t, <-done, what)
	}
	name := state.StackName{Project: "p", Name: "s"}
	const run = "20261123T134500.000Z-up-1"
	var l state.Lease
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"Create", func() error { return b.State.Create(ctx, name, []byte("{}")) }},
		{"Lease", func() (err error) { l, err = b.State.Lease(ctx, name, state.Holder{PID: 1}); return err }},
		{"Append", func() error { return l.Append(ctx, 1, []byte("one")) }},
		{"Checkpoint", func() error { return l.Checkpoint(ctx, 1, []byte(`{"one":1}`)) }},
		{"KV.Save", func() error { _, err := b.KV.Save(ctx, name, "aws", []byte("x"), ""); return err }},
		{"SetHistory", func() error { return b.State.SetHistory(ctx, name, [][]byte{[]byte("{}")}) }},
		{"SetHistory of none", func() error { return b.State.SetHistory(ctx, name, nil) }},
		{"History.Put", func() error { return b.History.Put(ctx, name, run, []byte("x")) }},
		{"Modules.Put", func() error {
			return b.Modules.Put(ctx, backend.Digest(nil), func() ([]byte, error) { return nil, nil })
		}},
		{"Rename", func() error { return l.Rename(ctx, state.StackName{Project: "p", Name: "t"}, []byte("{}")) }},
		{"Create again", func() error { return b.State.Create(ctx, name, []byte("{}")) }},
		{"Lease again", func() (err error) { l, err = b.State.Lease(ctx, name, state.Holder{PID: 1}); return err }},
		{"Break", func() error { return b.State.Break(ctx, name) }},
	} {
		if step.what == "Append" {
			_, err := l.Load(ctx)
			require.NoError(t, err)
		}
		alone(step.what, step.do)
	}
	_, err = l.Load(ctx)
	require.ErrorIs(t, err, state.ErrFenced)
	require.NoError(t, l.Release(ctx))
}
