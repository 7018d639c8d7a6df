package toposort

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		before [][]int
		order  []int
		cycles [][]int
	}{
		"nothing":           {order: []int{}},
		"in order":          {before: [][]int{nil, {0}, {0, 1}}, order: []int{0, 1, 2}},
		"the other way":     {before: [][]int{{1}, {2}, nil}, order: []int{2, 1, 0}},
		"independent":       {before: [][]int{nil, {3}, nil, nil}, order: []int{0, 3, 1, 2}},
		"itself":            {before: [][]int{{0}, nil}, order: []int{0, 1}, cycles: [][]int{{0}}},
		"each other":        {before: [][]int{{1}, {2}, {1}}, order: []int{2, 1, 0}, cycles: [][]int{{1, 2}}},
		"two through one":   {before: [][]int{{1, 2}, {0}, {0}}, order: []int{1, 2, 0}, cycles: [][]int{{0, 1}, {0, 2}}},
		"a second way back": {before: [][]int{{1}, {0, 0}}, order: []int{1, 0}, cycles: [][]int{{0, 1}, {0, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var cycles [][]int
			order := Order(len(test.before), func(i int) []int { return test.before[i] }, func(numbers func() []int) { cycles = append(cycles, numbers()) })
			require.Equal(t, test.order, order)
			require.Equal(t, test.cycles, cycles)
		})
	}
}

func TestALongChain(t *testing.T) {
	const n = 1_000_000
	order := Order(n, func(i int) []int {
		if i+1 < n {
			return []int{i + 1}
		}
		return nil
	}, func(func() []int) { t.Error("there is no cycle") })
	require.Equal(t, n-1, order[0])
	require.Len(t, order, n)
}
