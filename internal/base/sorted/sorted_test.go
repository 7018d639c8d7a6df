package sorted_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/sorted"
)

func TestBy(t *testing.T) {
	type word struct {
		text string
		at   int
	}
	words := []word{{"b", 1}, {"c", 2}, {"a", 3}, {"b", 4}, {"a", 5}, {"b", 6}}
	sorted.By(words, func(a, b word) int { return cmp.Compare(a.text, b.text) })
	require.Equal(t, []word{{"a", 3}, {"a", 5}, {"b", 1}, {"b", 4}, {"b", 6}, {"c", 2}}, words)
	sorted.By(nil, func(a, b word) int { panic("there is nothing to compare") })
}
