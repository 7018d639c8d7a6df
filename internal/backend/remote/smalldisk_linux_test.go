package remote_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/remote"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	backendtest.WithDisks(t, "TestOnSmallDisk", false)
}

// TestOnSmallDisk has the server keep stacks on a disk that is full.
func TestOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "SQLite", "8m")
	kept, err := openFile(t.Context(), filepath.Join(disk, "stacks.db"))
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	server, _ := serve(t, kept)
	backendtest.Case{
		Late: true, Open: func(int) state.Store { return open(t, server.URL, "all").State },
		Faults: []backendtest.Fault{{Times: 15, Cause: func(random *rand.Rand) {
			const longest = 50 // milliseconds
			free := backendtest.Fill(t, disk)
			time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond)
			free()
		}}},
	}.Run(t)
}

// TestUnrecordedOnAFullDisk runs TestUnrecordedOnSmallDisk in a process that has mounts of its own.
func TestUnrecordedOnAFullDisk(t *testing.T) {
	backendtest.WithDisks(t, "TestUnrecordedOnSmallDisk", false)
}

// TestUnrecordedOnSmallDisk has a disk be full while a run that has lost its lease keeps what it has made there. What does not fit does
// no harm to the rest.
func TestUnrecordedOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "unrecorded", "2m")
	file := filepath.Join(disk, "unrecorded")
	t.Setenv(remote.KnownVariable, "60")
	t.Setenv(remote.UnrecordedVariable, file)
	kept := newStacks(t)
	server, _ := serve(t, kept)
	b := open(t, server.URL, "all")
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	l, _, err := b.State.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	require.NoError(t, kept.State.Break(ctx, name))
	var saved *state.NoSpaceError
	require.ErrorAs(t, l.Append(ctx, 1, []byte("one")), &saved)
	require.True(t, saved.Saved)
	free := backendtest.Fill(t, disk)
	require.Error(t, l.Append(ctx, 2, bytes.Repeat([]byte("x"), 1<<20)))
	free()
	require.ErrorAs(t, l.Append(ctx, 2, []byte("two")), &saved)
	text, err := os.Open(file)
	require.NoError(t, err)
	defer text.Close()
	records, err := remote.ReadUnrecorded(text)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.Equal(t, remote.Unrecorded{Stack: name, Token: l.Token(), Sequence: 2, Record: []byte("two")}, records[1])
}
