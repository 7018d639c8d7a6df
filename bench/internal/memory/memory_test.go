package memory_test

import (
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/bench/internal/memory"
)

func TestResident(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc on " + runtime.GOOS)
	}
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = 1
	}
	resident, err := memory.Resident(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, resident, uint64(len(held)), "in bytes")
	runtime.KeepAlive(held)

	_, err = memory.Resident(math.MaxInt32)
	require.ErrorIs(t, err, os.ErrNotExist)
}
