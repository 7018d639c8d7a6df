//go:build unix

package gobuild_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/gobuild"
)

// A build ends with its context, and all that the go command has started with it. It does not wait for another process that builds
// the same directory.
func TestABuildThatIsCancelled(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, os.Mkdir(source, 0o755))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n(exec 3>'"+pipe+"'; echo begun >&3; exec /bin/sleep 1000) &\nwait\n"), 0o755))
	t.Setenv("PATH", dir)

	builder := &gobuild.Builder{Dir: filepath.Join(dir, "built")}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := builder.Build(ctx, source)
		ended <- err
	}()
	started, err := os.Open(pipe) // returns once what the command has started opens it
	require.NoError(t, err)
	defer started.Close()
	_, err = started.Read(make([]byte, len("begun\n")))
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	_, err = io.ReadAll(started) // to the end of the last process that has it
	require.NoError(t, err)

	places, err := os.ReadDir(builder.Dir)
	require.NoError(t, err)
	require.Len(t, places, 1)
	unlock, err := lockedfile.MutexAt(filepath.Join(builder.Dir, places[0].Name(), "lock")).Lock()
	require.NoError(t, err)
	_, err = builder.Build(ctx, source)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
}
