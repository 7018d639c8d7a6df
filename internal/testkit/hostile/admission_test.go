package hostile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// TestAHugeFileIsNotRead offers a file of a gigabyte, most of which is not there.
func TestAHugeFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.wasm")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(1<<30))
	require.NoError(t, file.Close())
	_, err = newHost(t, host.NewConfig()).Load(t.Context(), path)
	var size *host.SizeError
	moduleSize, _ := limit.Named("module-size")
	require.ErrorAs(t, err, &size)
	require.Equal(t, &host.SizeError{Size: 1 << 30, Limit: int64(moduleSize.Default)}, size)
}

// TestCompilationEnds compiles what takes the compiler long. Whoever waits for it can stop
// waiting, and the compilation itself ends at its limit.
func TestCompilationEnds(t *testing.T) {
	slow := assemble(t, "inputs/slow.wat")
	h := newHost(t, host.NewConfig().WithLimit(limit.CompileTime, uint64(time.Millisecond)))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInTime)
	_, err := h.LoadBytes(ctx, slow)
	require.ErrorIs(t, err, errInTime)
	_, err = h.LoadBytes(t.Context(), slow)
	var exceeded *limit.ExceededError
	require.ErrorAs(t, err, &exceeded)
	require.Equal(t, limit.CompileTime, exceeded.Limit)
}

// TestHostsShareACache has several hosts compile one module into one directory at once, as
// processes do.
func TestHostsShareACache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	module := assemble(t, "inputs/neighbour.wat")
	for range 3 {
		var group sync.WaitGroup
		failures := make([]error, 4)
		for n := range failures {
			group.Go(func() {
				h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
				if err == nil {
					_, err = h.LoadBytes(t.Context(), module)
					err = errors.Join(err, h.Close(context.Background()))
				}
				failures[n] = err
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(failures...))
	}
}
