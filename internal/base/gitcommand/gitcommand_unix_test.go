//go:build unix

package gitcommand_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/gitcommand"
)

// Git ends with its context, also while the program that it has started for a protocol waits for a server.
func TestGitThatIsCancelled(t *testing.T) {
	dir := t.TempDir()
	begun, rest := filepath.Join(dir, "begun"), filepath.Join(dir, "rest")
	for _, pipe := range []string{begun, rest} {
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n(echo > '"+begun+"'; exec /bin/cat '"+rest+"') &\nwait\n"), 0o700))
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := gitcommand.CheckOut(ctx, dir, "https://git.example/x", "")
		ended <- err
	}()
	server, err := os.OpenFile(rest, os.O_RDWR, 0) // it says nothing until the end of the test
	require.NoError(t, err)
	defer server.Close()
	started, err := os.Open(begun) // returns once the program writes to it
	require.NoError(t, err)
	require.NoError(t, started.Close())
	cancel()
	err = <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "fetching HEAD from https://git.example/x")
}
