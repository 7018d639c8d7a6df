package worker

import (
	"encoding/json"
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
	require.Len(t, nextBatch(lines(1000, maxText)), maxBatchBytes/encodedSize(strings.Repeat("x", maxText)))
	quoted := lines(100, 0)
	for i := range quoted {
		quoted[i].Text = strings.Repeat("\x01", 10_000)
	}
	sent, err := json.Marshal(nextBatch(quoted))
	require.NoError(t, err)
	require.Greater(t, len(sent), maxBatchBytes/2)
	require.LessOrEqual(t, len(sent), maxBatchBytes)
	require.Len(t, nextBatch(lines(2, maxBatchBytes+1)), 1)
}
