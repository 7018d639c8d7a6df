package conformance

import (
	"context"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// minimize removes from a failed case what the failure does not need. Written cases stay.
func minimize(ctx context.Context, f *findings, name string, o *schema.Object, s suite) {
	result := f.results[name]
	if result.Case == nil || result.Case.written {
		return
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for inputs := range fakevalue.Shrink(o, result.Case.Inputs) {
			if s.attempts--; s.attempts < 0 || ctx.Err() != nil {
				return
			}
			c := *result.Case
			c.Inputs = inputs
			trial := newFindings(f.subject, f.kind, []string{name})
			trial.begin(&c)
			s.test(ctx, trial, c)
			if trial.failed(name) {
				result.Case, result.Message = trial.results[name].Case, trial.results[name].Message
				shrunk = true
				break
			}
		}
	}
}
