//go:build unix

package gobuild_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/gobuild"
)

// A build ends with its context, also while what the Go command has started goes on, or another
// process builds the same directory.
func TestABuildThatIsCancelled(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	begun, end := filepath.Join(dir, "begun"), filepath.Join(dir, "end")
	require.NoError(t, os.Mkdir(source, 0o755))
	for _, pipe := range []string{begun, end} {
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n/bin/cat '"+end+"' &\necho > '"+begun+"'\nwait\n"), 0o755))
	t.Setenv("PATH", dir)

	builder := &gobuild.Builder{Dir: filepath.Join(dir, "built")}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := builder.Build(ctx, source)
		ended <- err
	}()
	started, err := os.Open(begun) // returns once the command writes to it
	require.NoError(t, err)
	require.NoError(t, started.Close())
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	rest, err := os.OpenFile(end, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, rest.Close())

	places, err := os.ReadDir(builder.Dir)
	require.NoError(t, err)
	require.Len(t, places, 1)
	unlock, err := lockedfile.MutexAt(filepath.Join(builder.Dir, places[0].Name(), "lock")).Lock()
	require.NoError(t, err)
	_, err = builder.Build(ctx, source)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
}
