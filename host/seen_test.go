package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
)

// later is a clock that is ahead, as if the files of a test were old.
type later struct{ host.Clock }

func (c later) Now() time.Time { return c.Clock.Now().Add(time.Hour) }

// A module's file need not be hashed each time, but whatever becomes of it, what is loaded is
// what is in it.
func TestAFileThatChangedIsSeen(t *testing.T) {
	needsCompiler(t)
	module := func(says string) []byte {
		return assembly{
			bodies: map[string]code{"get-schema": returns(answer)},
			data:   map[uint32]string{answer: words(0, contents, uint32(len(says))), contents: says},
		}.wasm()
	}
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	path := filepath.Join(dir, "module.wasm")
	loads := func(clock host.Clock, says string) {
		t.Helper()
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(cache).WithClock(clock))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.Load(t.Context(), path)
		require.NoError(t, err)
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
		require.NoError(t, err)
		defer p.Close()
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, says, got)
	}
	seen := func() []string {
		files, err := filepath.Glob(filepath.Join(cache, "*.seen"))
		require.NoError(t, err)
		return files
	}
	require.NoError(t, os.WriteFile(path, module("one"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	loads(host.SystemClock(), "one")
	require.Empty(t, seen(), "a file that may still change without a trace")
	old := later{host.SystemClock()}
	loads(old, "one")
	if len(seen()) == 0 {
		t.Skip("the system does not tell when a file has changed")
	}
	loads(old, "one")

	// Of the same size and, as far as programs can tell, of the same time.
	require.NoError(t, os.WriteFile(path, module("two"), 0o600))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	loads(old, "two")
	loads(old, "two")

	other := filepath.Join(dir, "other.wasm")
	require.NoError(t, os.WriteFile(other, module("six"), 0o600))
	require.NoError(t, os.Rename(other, path))
	loads(old, "six")

	for _, damage := range []string{"", "not sealed"} {
		require.NoError(t, os.WriteFile(seen()[0], []byte(damage), 0o600))
		loads(old, "six")
	}
}
