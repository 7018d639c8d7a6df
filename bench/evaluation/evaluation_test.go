package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
)

// What is allocated, and the steps that are charged, do not depend on what else the machine does.
func TestCostsGrowInProportion(t *testing.T) {
	sizes := []int{600, 4800} // a few hundred hide what grows with the square, if it is small
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			var objects, bytes, steps []float64
			for _, n := range sizes {
				project, config := s.write(n)
				taken := int64(1)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				require.NoError(t, evaluate(t.Context(), project, config, func(p *yamlprogram.Program) {
					p.Limit(budget.Limits{Spent: func(steps, _ int64) { taken = max(taken, steps) }})
				}))
				runtime.ReadMemStats(&after)
				objects = append(objects, float64(after.Mallocs-before.Mallocs))
				bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc))
				steps = append(steps, float64(taken))
			}
			for what, costs := range map[string][]float64{"objects": objects, "bytes": bytes, "steps": steps} {
				// Tables double.
				require.Less(t, figures.Exponent(sizes, costs), 1.25, "%s: %v", what, costs)
			}
		})
	}
}
