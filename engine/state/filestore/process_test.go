package filestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// holdVariable makes this test binary a process that appends and holds the lease
// of the store in the directory that it names.
const holdVariable = "HUSK_TEST_HOLD_LEASE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdVariable); dir != "" {
		holdLease(dir)
		return
	}
	os.Exit(m.Run())
}

func holdLease(dir string) {
	ctx := context.Background()
	stack, err := state.Open(ctx, filestore.New(dir), stackName, plainKeys{}, state.Holder{PID: os.Getpid(), Host: "there", User: "other", Command: "husk up"})
	if err == nil {
		err = stack.Append(ctx, state.Entry{state.BeginOperation{Op: 0, Type: state.OperationCreating, Resource: component("a")}})
	}
	fmt.Println("held", err)
	select {} // until it is killed
}

// A process that is killed leaves its lock to the next, and what it had begun.
func TestKilledProcess(t *testing.T) {
	dir, store, stack := openStack(t)
	require.NoError(t, stack.Close(t.Context()))
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdVariable+"="+dir)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held <nil>", strings.TrimSpace(line))

	_, err = state.Open(t.Context(), store, stackName, plainKeys{}, state.Holder{})
	require.ErrorIs(t, err, state.ErrLocked)
	require.ErrorContains(t, err, fmt.Sprintf("process %d (husk up) of other on there", other.Process.Pid))
	snapshot, _, err := state.Load(t.Context(), store, stackName, plainKeys{}.Open)
	require.NoError(t, err, "reading needs no lock")
	require.Zero(t, snapshot.Len())

	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	stack = reopen(t, store)
	require.Equal(t, 1, stack.Recovery().Records)
	pending := 0
	for _, op := range stack.Snapshot().Operations() {
		require.Equal(t, state.OperationCreating, op.Type)
		require.Equal(t, "a", op.Resource.URN.Name())
		pending++
	}
	require.Equal(t, 1, pending)
	require.NoError(t, stack.Close(t.Context()))
}
