package backend_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
)

func openFiles(t *testing.T) *backend.Backend {
	dir := t.TempDir()
	return backend.Files(dir, filestore.New(dir))
}

func TestFiles(t *testing.T) { backendtest.Run(t, openFiles) }

func TestHistory(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		var mu sync.Mutex
		backendtest.History(t, func(int) state.Store { return oneByOne{filestore.New(dir), &mu} }, nil)
	})
	t.Run("memory", func(t *testing.T) {
		var store memstore.Store
		backendtest.History(t, func(int) state.Store { return &store }, nil)
	})
}

// oneByOne keeps Lease and Break apart. When they race, two leases of a directory can get the same token; the
// first of them is fenced by the contents of its lock file before it has written anything.
type oneByOne struct {
	state.Store
	mu *sync.Mutex
}

func (s oneByOne) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Lease(ctx, name, holder)
}

func (s oneByOne) Break(ctx context.Context, name state.StackName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Break(ctx, name)
}

func TestNamesStayInTheDirectory(t *testing.T) {
	b, stack := openFiles(t), state.StackName{Project: "p", Name: "s"}
	for _, bad := range []string{"../x", "a/b", `a\b`, ""} {
		_, _, err := b.KV.Load(t.Context(), stack, bad)
		require.Error(t, err, bad)
		_, err = b.KV.Save(t.Context(), stack, bad, nil, "")
		require.Error(t, err, bad)
	}
	require.Error(t, b.History.Put(t.Context(), stack, "../x", nil))
	_, err := b.Modules.Get(t.Context(), "sha256:../x")
	require.Error(t, err)
}
