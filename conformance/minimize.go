package conformance

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// How many smaller cases are tried for a failure. Those of a resource's life create
// one each, which may take long.
const (
	attemptsInputs = 40
	attemptsLife   = 12
)

// minimize takes out of a failed case what the failure does not need. Written cases
// stay as they are.
func (r *run) minimize(ctx context.Context, f *findings, name string, o *schema.Object, attempts int, do func(context.Context, *findings, Case)) {
	result := f.results[name]
	if result.Case == nil || result.Case.written {
		return
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for inputs := range smaller(o, result.Case.Inputs) {
			if attempts--; attempts < 0 || ctx.Err() != nil {
				return
			}
			c := *result.Case
			c.Inputs = inputs
			trial := newFindings(f.subject, f.kind, []string{name})
			trial.begin(&c)
			do(ctx, trial, c)
			if trial.failed(name) {
				result.Case, result.Message = trial.results[name].Case, trial.results[name].Message
				shrunk = true
				break
			}
		}
	}
}

// smaller iterates over inputs with one thing less: an optional property, an element
// of an array, or an entry of an object.
func smaller(o *schema.Object, inputs property.Map) func(yield func(property.Map) bool) {
	return func(yield func(property.Map) bool) {
		for _, name := range inputs.Keys() {
			if p := o.Property(name); p == nil || !p.Required || p.HasDefault() {
				if !yield(inputs.Without(name)) {
					return
				}
			}
		}
		for _, name := range inputs.Keys() {
			for v := range smallerValues(o.Property(name), inputs.Get(name)) {
				if !yield(inputs.With(name, v)) {
					return
				}
			}
		}
	}
}

func smallerValues(p *schema.Property, v property.Value) func(yield func(property.Value) bool) {
	return func(yield func(property.Value) bool) {
		wrap := func(v property.Value) property.Value { return v }
		if v.IsSecret() {
			wrap = property.Secret
		}
		if elements, ok := v.Plain().AsArray(); ok && len(elements) > 1 {
			yield(wrap(property.Array(elements[:1]...)))
			return
		}
		m, ok := v.Plain().AsObject()
		if !ok {
			return
		}
		for _, key := range m.Keys() {
			if p != nil && p.Type.Kind == schema.KindObject {
				if inner := p.Type.Object.Property(key); inner != nil && inner.Required {
					continue
				}
			}
			if !yield(wrap(property.Object(m.Without(key)))) {
				return
			}
		}
	}
}
