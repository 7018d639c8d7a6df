package worker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// TestBatches has what is sent at once be bounded by lines and by bytes, and one line always be sent.
func TestBatches(t *testing.T) {
	lines := func(n, size int) []runapi.Line {
		all := make([]runapi.Line, n)
		for i := range all {
			all[i].Text = strings.Repeat("x", size)
		}
		return all
	}
	require.Empty(t, nextBatch(nil))
	require.Len(t, nextBatch(lines(10, 10)), 10)
	require.Len(t, nextBatch(lines(5000, 10)), maxBatch)
	require.Len(t, nextBatch(lines(1000, maxText)), maxBatchBytes/maxText)
	require.Len(t, nextBatch(lines(2, maxBatchBytes+1)), 1)
}
