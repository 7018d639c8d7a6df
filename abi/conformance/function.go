package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// functionTest tests one function.
type functionTest struct {
	run *run
	*schema.Function
}

// testFunction tests a function.
func (r *run) testFunction(ctx context.Context, function *schema.Function) {
	f := newFindings(function.Token, KindFunction, r.options.Only)
	cases := r.cases(function.Token, &function.Args, r.options.Cases.Functions[function.Token])
	if len(cases) == 0 {
		return
	}
	t := &functionTest{run: r, Function: function}
	r.tested(ctx, f, &function.Args, rulesOf(groupFunction), cases, attemptsInputs, t.test)
	r.tested(ctx, f, &function.Args, rulesOf(groupHostile), r.hostileCases(&function.Args, cases), attemptsInputs, t.testHostile)
	f.addTo(r.report)
}

func (t *functionTest) invoke(ctx context.Context, args property.Map, preview bool) (abi.InvokeResponse, error) {
	return ask(ctx, t.run.main, abi.Provider.Invoke, abi.InvokeRequest{Token: t.Token, Args: args, Preview: preview})
}

func (t *functionTest) test(ctx context.Context, f *findings, c Case) {
	c, response, err := t.prepare(ctx, c)
	f.current.Inputs = c.Inputs
	if c.Expect != nil {
		f.report(ruleExpectations, t.expectedOutcome(c.Expect, response, err))
		if c.Expect.Error != "" || len(c.Expect.Refused) > 0 {
			return
		}
	}
	outcome := t.answerOutcome(c, response, err)
	f.report(ruleInvoke, outcome)
	if f.wants(ruleInvokeArguments) {
		f.report(ruleInvokeArguments, t.refusesArguments(ctx, c.Inputs))
	}
	if outcome != nil {
		f.rest(outcome, rulesOf(groupFunction)...)
		return
	}
	if f.wants(ruleInvokePreview) {
		f.report(ruleInvokePreview, t.previewOutcome(ctx, c))
	}
	if f.wants(ruleInvokeSecrets) {
		f.report(ruleInvokeSecrets, t.secretsOutcome(ctx, c.Inputs))
	}
}

// prepare calls the function, with repaired arguments where it refuses generated ones.
func (t *functionTest) prepare(ctx context.Context, c Case) (repaired Case, response abi.InvokeResponse, err error) {
	fix := t.run.repairer(t.Token, &t.Args, c)
	repaired = c
	for {
		answer, failed := t.invoke(ctx, repaired.Inputs, false)
		if repaired.Inputs.Equal(c.Inputs) {
			response, err = answer, failed
		}
		paths := pathsOf(answer.Failures)
		if e, ok := errors.AsType[*abi.Error](failed); ok && e.Kind == abi.ErrorKindInvalidArgument && !isFault(failed) {
			paths = []string{e.Path}
		}
		if c.written || len(paths) == 0 {
			return repaired, answer, failed
		}
		var ok bool
		if repaired.Inputs, ok = fix.next(repaired.Inputs, paths); !ok {
			return c, response, err // as it was before all attempts
		}
	}
}

// expectedOutcome holds what a case's author expects.
func (t *functionTest) expectedOutcome(expect *Expectation, response abi.InvokeResponse, err error) error {
	if expect.Error != "" {
		if err == nil {
			return fmt.Errorf("invoke is to answer the error %s, and succeeds", expect.Error)
		}
		return kindOutcome(err, expect.Error)
	}
	if err != nil {
		return mistake(err, "invoke")
	}
	for _, path := range expect.Refused {
		if !slices.ContainsFunc(response.Failures, func(f abi.CheckFailure) bool { return f.Path == path }) {
			return fmt.Errorf("invoke is to refuse %q, and says: %s", path, orNothing(failuresText(response.Failures)))
		}
	}
	return outputsOutcome(expect.Outputs, response.Result)
}

// answerOutcome holds that a result is as the schema says.
func (t *functionTest) answerOutcome(c Case, response abi.InvokeResponse, err error) error {
	switch {
	case err != nil && c.written:
		return fmt.Errorf("invoke: %s", reason(err))
	case err != nil:
		return refusal(err, "invoke")
	case len(response.Failures) > 0 && c.written:
		return fmt.Errorf("the arguments are refused: %s", failuresText(response.Failures))
	case len(response.Failures) > 0:
		return skipf("invoke refuses %s: %s; %s", c.Inputs, failuresText(response.Failures), giveCases)
	}
	return outputsFit(&t.Result, response.Result, "the result that invoke answers")
}

func (t *functionTest) previewOutcome(ctx context.Context, c Case) error {
	var response abi.InvokeResponse
	var err error
	effects := t.run.observed(ctx, func() { response, err = t.invoke(ctx, c.Inputs, true) })
	if effects != nil {
		return fmt.Errorf("in a preview invoke %w", effects)
	}
	if err != nil {
		return fmt.Errorf("in a preview invoke answers an error: %s", reason(err))
	}
	return t.answerOutcome(c, response, nil)
}

func (t *functionTest) secretsOutcome(ctx context.Context, args property.Map) error {
	if !t.run.takes(abi.FeaturesSecrets) {
		return skipf("the provider does not take secrets; the host marks them")
	}
	secret := allSecret(args)
	words := secretWords(&t.Args, args, secret)
	if len(words) == 0 {
		return inapplicable("there are no texts among the arguments")
	}
	response, err := t.invoke(ctx, secret, false)
	if err != nil {
		return mistake(err, "invoke with secret arguments")
	}
	if len(response.Failures) > 0 {
		return fmt.Errorf("the arguments are refused when they are secret: %s", failuresText(response.Failures))
	}
	return leakOutcome(response.Result, words, "invoke")
}

// refusesArguments holds that wrong arguments are refused.
func (t *functionTest) refusesArguments(ctx context.Context, args property.Map) error {
	wrong := map[string]property.Map{unheardOf(&t.Args): args.With(unheardOf(&t.Args), property.String("x"))}
	for i := range t.Args.Properties {
		p := &t.Args.Properties[i]
		if v, ok := wrongFor(p.Type); ok {
			wrong[p.Name] = args.With(p.Name, v)
		}
		if p.Required && !p.HasDefault() {
			if err := t.mustRefuse(ctx, args.Without(p.Name), p.Name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		if err := t.mustRefuse(ctx, wrong[name], name); err != nil {
			return err
		}
	}
	return nil
}

func (t *functionTest) mustRefuse(ctx context.Context, args property.Map, name string) error {
	what := fmt.Sprintf("%s as %s", name, args.Get(name))
	if !args.Has(name) {
		what = "required " + name + " missing"
	}
	response, err := t.invoke(ctx, args, false)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Kind == abi.ErrorKindInvalidArgument && !isFault(err) {
		if startsWith(e.Path, name) {
			return nil
		}
		return fmt.Errorf("invoke with %s answers an error at the path %q: %s", what, e.Path, reason(err))
	}
	if err != nil {
		return mistake(err, "invoke with "+what)
	}
	if len(response.Failures) == 0 {
		return fmt.Errorf("invoke accepts %s", what)
	}
	if !refusedAt(response.Failures, name) {
		return fmt.Errorf("invoke with %s is refused, but for another reason: %s", what, failuresText(response.Failures))
	}
	return nil
}

// testHostile calls the function with the arguments as they are, in a preview.
func (t *functionTest) testHostile(ctx context.Context, f *findings, c Case) {
	_, err := t.invoke(ctx, c.Inputs, true)
	if isFault(err) {
		f.report(ruleHostile, fmt.Errorf("invoke with %s: %w", c.Inputs, err))
		return
	}
	f.report(ruleHostile, nil)
}
