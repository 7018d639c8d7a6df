package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/postgrestest"
	"github.com/husk-dev/husk/internal/runapi"
)

// TestBehindPooler has PgBouncer give each transaction of the server to another connection, which knows no statements that
// were prepared before. The URL names two servers, the first of which is gone.
func TestBehindPooler(t *testing.T) {
	database := postgrestest.Start(t)
	pooled := database.URL("postgres", database.Pooler(t))
	pooled = strings.Replace(pooled, "@127.0.0.1:", "@127.0.0.1:1,127.0.0.1:", 1)
	dir := t.TempDir() // with the key of the server
	for mode, parameter := range map[string]string{"default": "", "exec": "&default_query_exec_mode=exec"} {
		t.Run(mode, func(t *testing.T) {
			b := open(t, server.Options{Database: pooled + parameter, Dir: dir})
			b.useBehindPooler(mode)
		})
	}
}

func (b *bench) useBehindPooler(tenant string) {
	t, ctx := b.t, b.t.Context()
	admin, requester, worker := b.client(tenant, "ann", runapi.Admin), b.client(tenant, "rob", runapi.Request), b.client(tenant, "w", runapi.Work)
	bundle := runapi.NewRun{Project: "shop", Bundle: digest("files"), Operation: "up"}
	require.NoError(t, requester.SendBundle(ctx, bundle.Bundle, []byte("files")))
	const runs = 12
	var work sync.WaitGroup
	errs := make([]error, runs)
	for n := range runs {
		work.Go(func() {
			run := bundle
			run.Stack = strings.Repeat("s", n+1)
			_, errs[n] = b.ask(requester, run)
		})
	}
	work.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for range runs {
		require.NotNil(t, b.next(worker, "one", nil))
	}
	schedule := runapi.Schedule{Cron: "@every 1s", Run: bundle}
	schedule.Run.Stack, schedule.Run.Operation, schedule.Run.Options = "nightly", "refresh", []string{"--preview-only=true"}
	_, err := admin.Call(ctx, http.MethodPut, "/v1/schedules/drift", schedule, nil)
	require.NoError(t, err)
	for b.next(worker, "one", nil) == nil {
		time.Sleep(50 * time.Millisecond)
	}
	token, err := b.server.IssueToken(ctx, runapi.Token{Tenant: tenant, Name: "state", Role: runapi.Admin})
	require.NoError(t, err)
	states, err := remote.Open(ctx, strings.Replace(b.url, "//", "//:"+token.Secret+"@", 1), t.TempDir())
	require.NoError(t, err)
	defer states.Close()
	require.NoError(t, states.State.Create(ctx, state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
	names, err := states.State.List(ctx)
	require.NoError(t, err)
	require.Len(t, names, 1)
}
