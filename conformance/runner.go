package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// suite is a group of checks that run together on each of a subject's cases.
type suite struct {
	rules []string
	cases []Case
	// attempts is how many smaller cases are tried for a failure.
	attempts int
	test     func(context.Context, *findings, Case)
}

// How many smaller cases are tried for a failure. A smaller case of a resource's life creates a
// resource, which may take long.
const (
	attemptsInputs = 40
	attemptsLife   = 12
)

// testSubject runs suites on a subject with inputs of the schema o, and reports their outcomes.
func (r *run) testSubject(ctx context.Context, name string, kind SubjectKind, o *schema.Object, suites ...suite) {
	f := newFindings(name, kind, r.options.Only)
	for _, s := range suites {
		r.runSuite(ctx, f, o, s)
	}
	r.add(f)
}

func (r *run) runSuite(ctx context.Context, f *findings, o *schema.Object, s suite) {
	if !f.wants(s.rules...) {
		return
	}
	for i := range s.cases {
		if ctx.Err() != nil || len(s.rules) == 1 && f.failed(s.rules[0]) {
			return
		}
		holding := slices.DeleteFunc(slices.Clone(s.rules), f.failed)
		f.begin(&s.cases[i])
		s.test(ctx, f, s.cases[i])
		for _, name := range holding {
			if f.wants(name) && f.failed(name) {
				minimize(ctx, f, name, o, s)
			}
		}
	}
}

// testPackage runs a check of the package that needs no case. If only cases are tested, the check
// runs on demand.
func (r *run) testPackage(rule string, test func() (outcome, err error)) error {
	f := newFindings(Package, KindPackage, r.options.Only)
	if r.options.CasesOnly && len(r.options.Only) == 0 || !f.wants(rule) {
		return nil
	}
	f.begin(nil)
	outcome, err := test()
	if err != nil {
		return err
	}
	f.report(rule, outcome)
	r.add(f)
	return nil
}

// repair calls try with the inputs of a case. While try returns the paths that the provider
// refuses, repair changes generated inputs, see [repairer]. It returns the case that try accepted,
// or the case itself and false if nothing is left to try.
func (r *run) repair(subject string, o *schema.Object, c Case, try func(property.Map) (refused []string)) (repaired Case, ok bool) {
	fix := r.repairer(subject, o, c)
	for repaired = c; ; {
		paths := try(repaired.Inputs)
		if c.written || len(paths) == 0 {
			return repaired, true
		}
		if repaired.Inputs, ok = fix.next(repaired.Inputs, paths); !ok {
			return c, false
		}
	}
}

// probe is a call whose error may be anything but a fault.
type probe struct {
	what string
	call func(context.Context) error
}

func probeOf[Q, R any](what string, do func(context.Context, Q) (R, error), request Q) probe {
	return probe{what, func(ctx context.Context) error {
		_, err := do(ctx, request)
		return err
	}}
}

// hostileSuite probes a subject with inputs of any shape, after the inputs of its cases.
func (r *run) hostileSuite(o *schema.Object, cases []Case, probes func(property.Map) []probe) suite {
	return suite{rulesOf(groupHostile), r.hostileCases(o, cases), attemptsInputs, func(ctx context.Context, f *findings, c Case) {
		for _, p := range probes(c.Inputs) {
			if err := p.call(ctx); isFault(err) {
				f.report(ruleHostile, fmt.Errorf("%s with %s: %w", p.what, c.Inputs, err))
				return
			}
		}
		f.report(ruleHostile, nil)
	}}
}

// hostileCases returns the given cases, and cases in which every property has the same hostile value.
func (r *run) hostileCases(o *schema.Object, given []Case) []Case {
	cases := slices.Clone(given)
	if r.options.CasesOnly {
		return cases
	}
	add := func(bag property.Map) {
		cases = append(cases, Case{Name: fmt.Sprintf("hostile %d", len(cases)-len(given)+1), Inputs: bag})
	}
	for _, v := range fakevalue.Hostile() {
		entries := []property.Entry{{Key: unheardOf(o), Value: v}}
		for i := range o.Properties {
			entries = append(entries, property.Entry{Key: o.Properties[i].Name, Value: v})
		}
		add(property.NewMap(entries...))
	}
	add(property.Map{})
	return cases
}
