package processor_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/bench/internal/processor"
)

func TestTimesGrowWithWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not all of it is measured on " + runtime.GOOS)
	}
	own, of := processor.Own(), processor.Of(os.Getpid())
	sum := 0
	for i := range 100_000_000 {
		sum ^= i
	}
	runtime.KeepAlive(sum)
	require.Greater(t, processor.Own(), own)
	require.Greater(t, processor.Of(os.Getpid()), of)
}
