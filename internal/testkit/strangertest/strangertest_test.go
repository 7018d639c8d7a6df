package strangertest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/strangertest"
)

// A key of project files that has a text says in the table what it stands for.
func TestEachTextHasARow(t *testing.T) {
	var rows []string
	for _, r := range strangertest.Rows {
		rows = append(rows, r.Key)
		require.Equal(t, r.Kind == strangertest.Text, r.Project == "", r.Key)
	}
	slices.Sort(rows)
	require.Equal(t, strangertest.Texts(), slices.Compact(rows))
}
