package runtrace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/run/runtrace"
)

// A download is in the trace when it begins and when it ends, however often its progress is told.
func TestProgressIsNotTraced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans.jsonl")
	r, err := runtrace.Open(file, "up", func(string) string { return "" }, func(text string) string { return text }, "1.0.0")
	require.NoError(t, err)
	for _, e := range []engine.Preparing{{ElapsedMs: 500}, {ElapsedMs: 1000, Received: 1, Size: 2}, {ElapsedMs: 1500, Received: 2, Size: 2}, {ElapsedMs: 1500, Done: true}} {
		e.Provider, e.Doing = "random", "fetching"
		r.Event(e)
	}
	require.NoError(t, r.Close(nil))
	spans, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(spans), `"preparing"`), "%s", spans)
}
