package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
)

// Timings are shown at the end, where they are asked for.
func TestTimings(t *testing.T) {
	slow, failed := step(engine.OpCreate, "slow"), step(engine.OpUpdate, "failed")
	def := step(engine.OpCreate, "default")
	def.DefaultProvider = true
	for _, asked := range []bool{false, true} {
		s := &shown{}
		s.Text = newText(&screen{out: &s.out}, NewOutput(&s.errs, nil), Options{Timings: asked})
		for _, e := range []engine.Event{
			started,
			engine.StepDone{Step: def, DurationMs: 9_000},
			engine.StepFailed{Step: failed, DurationMs: 3, Error: "no", Cost: &engine.StepCost{Calls: 1, Microseconds: 4_120}},
			engine.StepDone{Step: slow, DurationMs: 1_234, Cost: &engine.StepCost{Calls: 2, Microseconds: 1_000_000}},
			engine.ProviderCosts{Package: "lab", URN: "urn:pulumi:dev::demo::pulumi:providers:lab::default", Methods: []engine.MethodCost{
				{Method: "check", Calls: 12, BySchema: 7, Microseconds: 900, LongestMicroseconds: 100, Fuel: 1_234_567, BytesIn: 999, BytesOut: 1_000},
				{Method: "create", Calls: 1, Failures: 1, Microseconds: 61_234_567, LongestMicroseconds: 1_234_567},
			}},
			engine.ProviderCosts{Package: "lab", URN: "urn:pulumi:dev::demo::pulumi:providers:lab::mine", Methods: []engine.MethodCost{
				{Method: "read", Calls: 1, Microseconds: 12_345, LongestMicroseconds: 12_345},
			}},
			engine.Summary{Result: "succeeded"},
		} {
			s.Event(e)
		}
		s.Close(nil)
		_, told, _ := strings.Cut(s.out.String(), "Done in 0.0s: nothing changed.\n")
		if !asked {
			require.Empty(t, told)
			continue
		}
		require.Equal(t, `
Provider calls
  PROVIDER  METHOD  CALLS  BY SCHEMA  FAILED  TIME     LONGEST  FUEL  SENT  RECEIVED
  lab       check   12     7          0       900µs    100µs    1.2M  999B  1.0kB
  lab       create  1                 1       1m1.23s  1.23s                
  lab mine  read    1                 0       12.35ms  12.35ms              

Slowest steps
  RESOURCE          STEP    TIME    IN ITS PROVIDER
  lab:Thing slow    create  1.23s   1s
  lab:Thing failed  update  4.12ms  4.12ms
`, told)
	}
}
