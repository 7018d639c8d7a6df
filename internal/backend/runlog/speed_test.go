package runlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/backend/runlog"
)

// A step costs the run what it takes to encode its two events.
func BenchmarkStep(b *testing.B) {
	r, err := runlog.Begin(b.TempDir(), header("up", begun), runlog.Options{})
	require.NoError(b, err)
	s := step(engine.OpCreate, "one")
	for _, name := range []string{"name", "size", "content", "owner", "tags"} {
		s.Inputs = append(s.Inputs, engine.PropertyChange{Path: name, Kind: "add", New: `"the value of this property"`})
	}
	for b.Loop() {
		r.Event(engine.StepStarted{Step: s})
		r.Event(engine.StepDone{Step: s, DurationMs: 3, Cost: &engine.StepCost{Calls: 2, Microseconds: 900}})
	}
	require.NoError(b, r.Close(r.EndOf(true, nil)))
}
