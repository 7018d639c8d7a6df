package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// functionTest tests one function: a function with one result, a stream, a method of a component, one that
// opens ephemeral values, or an action, which is called in previews only.
type functionTest struct {
	run *run
	*schema.Function
	kind functionKind
}

type functionKind uint8

const (
	plainFunction functionKind = iota
	streamFunction
	methodFunction
	ephemeralFunction
	actionFunction
)

// functionResponse is the outcome of a call of a function.
type functionResponse struct {
	results  []property.Map
	failures []abi.CheckFailure
}

func (r *run) testFunction(ctx context.Context, function *schema.Function) {
	args := &function.Args
	t := &functionTest{run: r, Function: function}
	switch {
	case function.Streams:
		t.kind = streamFunction
	case function.Ephemeral:
		t.kind = ephemeralFunction
	case function.Action:
		t.kind = actionFunction
	case args.Property(self) != nil:
		t.kind = methodFunction
	}
	cases := r.cases(function.Token, args, r.options.Cases.Functions[function.Token])
	if len(cases) == 0 {
		return
	}
	r.testSubject(ctx, function.Token, KindFunction, args,
		suite{rulesOf(groupFunction), cases, attemptsInputs, t.test},
		r.hostileSuite(args, cases, func(m property.Map) []probe {
			return []probe{{"invoke", func(ctx context.Context) error {
				_, err := t.call(ctx, m, true)
				return err
			}}}
		}))
}

// call calls the function, and a method in previews only: else its component must exist.
func (t *functionTest) call(ctx context.Context, args property.Map, preview bool) (functionResponse, error) {
	switch t.kind {
	case streamFunction:
		results, err := t.stream(ctx, args, preview, maxResults)
		return functionResponse{results: results}, err
	case methodFunction:
		monitor := newRecorder()
		response, err := t.run.main.Call(abi.WithMonitor(ctx, monitor), abi.CallRequest{
			Token: t.Token, Args: args, Context: previewContext,
		})
		return functionResponse{[]property.Map{response.Result}, response.Failures}, err
	case ephemeralFunction:
		response, err := t.run.main.OpenEphemeral(ctx, abi.OpenEphemeralRequest{Token: t.Token, Args: args, Preview: preview})
		if err == nil && len(response.Failures) == 0 {
			err = t.close(ctx, response.Private)
		}
		return functionResponse{[]property.Map{response.Result}, response.Failures}, err
	case actionFunction:
		response, err := t.run.main.RunAction(ctx, abi.RunActionRequest{Token: t.Token, Args: args, Preview: true})
		return functionResponse{failures: response.Failures}, err
	}
	response, err := t.run.main.Invoke(ctx, abi.InvokeRequest{Token: t.Token, Args: args, Preview: preview})
	return functionResponse{[]property.Map{response.Result}, response.Failures}, err
}

func (t *functionTest) test(ctx context.Context, f *findings, c Case) {
	c, got, err := t.prepare(ctx, c)
	f.current.Inputs = c.Inputs
	if c.Expect != nil {
		f.report(ruleExpectations, t.expectedOutcome(c.Expect, got, err))
		if c.Expect.Error != "" || len(c.Expect.Refused) > 0 {
			if !t.run.options.CasesOnly {
				f.report(ruleInvoke, refused("the call is to fail, and so in all cases: add one that is to succeed"))
			}
			return
		}
	}
	if t.kind != streamFunction {
		f.report(ruleStream, inapplicable("the function returns one result"))
	}
	if t.kind != ephemeralFunction {
		f.report(ruleEphemeral, inapplicable("the function opens no ephemeral values"))
	}
	outcome := t.responseOutcome(c, got, err)
	f.report(ruleInvoke, outcome)
	f.try(ruleInvokeArguments, func() error { return t.refusesArguments(ctx, c.Inputs) })
	if outcome != nil {
		f.rest(outcome, rulesOf(groupFunction)...)
		return
	}
	if t.kind == streamFunction {
		f.try(ruleStream, func() error { return t.streamOutcome(ctx, c.Inputs) })
	}
	if t.kind == ephemeralFunction {
		f.try(ruleEphemeral, func() error { return t.ephemeralOutcome(ctx, c.Inputs) })
	}
	f.try(ruleInvokePreview, func() error { return t.previewOutcome(ctx, c) })
	f.try(ruleInvokeSecrets, func() error { return t.secretsOutcome(ctx, c.Inputs) })
}

// prepare calls the function, and repairs generated arguments that it refuses.
func (t *functionTest) prepare(ctx context.Context, c Case) (repaired Case, got functionResponse, err error) {
	var first, next functionResponse
	var firstErr, nextErr error
	calls := 0
	repaired, ok := t.run.repair(t.Token, &t.Args, c, func(args property.Map) []string {
		next, nextErr = t.call(ctx, args, false)
		if calls++; calls == 1 {
			first, firstErr = next, nextErr
		}
		if path, refuses := refusedPath(nextErr); refuses {
			return []string{path}
		}
		return pathsOf(next.failures)
	})
	if !ok {
		return repaired, first, firstErr
	}
	return repaired, next, nextErr
}

func (t *functionTest) expectedOutcome(expect *Expectation, got functionResponse, err error) error {
	if expect.Error != "" {
		if err == nil {
			return fmt.Errorf("invoke must return the error %s, and succeeds", expect.Error)
		}
		return kindOutcome(err, expect.Error)
	}
	if err != nil {
		return mistake(err, "invoke")
	}
	for _, path := range expect.Refused {
		if !slices.ContainsFunc(got.failures, func(f abi.CheckFailure) bool { return f.Path == path }) {
			return fmt.Errorf("invoke is to refuse %q, and says: %s", path, orNothing(failuresText(got.failures)))
		}
	}
	if len(got.results) == 0 {
		return outputsOutcome(expect.Outputs, property.Map{})
	}
	return outputsOutcome(expect.Outputs, got.results[0])
}

// responseOutcome checks that results fit the schema.
func (t *functionTest) responseOutcome(c Case, got functionResponse, err error) error {
	switch {
	case err != nil && c.written:
		return fmt.Errorf("invoke: %s", reason(err))
	case err != nil:
		return promised(err, "invoke")
	case len(got.failures) > 0 && c.written:
		return fmt.Errorf("the arguments are refused: %s", failuresText(got.failures))
	case len(got.failures) > 0:
		return refused("invoke refuses %s: %s; %s", c.Inputs, failuresText(got.failures), giveCases)
	}
	for _, result := range got.results {
		if err := t.resultFits(result); err != nil {
			return err
		}
	}
	return nil
}

// resultFits checks that a result fits the schema, which may be a type without properties.
func (t *functionTest) resultFits(result property.Map) error {
	const what = "the result that invoke returns"
	if t.Returns == nil {
		return outputsFit(&t.Result, result, what, t.kind == methodFunction)
	}
	if failures := t.CheckAnswer(result); len(failures) > 0 {
		return fmt.Errorf("%s does not fit the schema: %s", what, failuresText(failures))
	}
	return nil
}

func (t *functionTest) previewOutcome(ctx context.Context, c Case) error {
	switch t.kind {
	case methodFunction:
		return inapplicable("methods are tested in previews only")
	case ephemeralFunction:
		return inapplicable("ephemeral values are opened in previews, too")
	}
	var got functionResponse
	var err error
	effects := t.run.observed(ctx, func() { got, err = t.call(ctx, c.Inputs, true) })
	if effects != nil {
		return fmt.Errorf("in a preview invoke %w", effects)
	}
	if err != nil {
		return fmt.Errorf("invoke returns an error in a preview: %s", reason(err))
	}
	return t.responseOutcome(c, got, nil)
}

func (t *functionTest) secretsOutcome(ctx context.Context, args property.Map) error {
	if !t.run.takes(abi.FeaturesSecrets) {
		return errNoSecrets
	}
	secret := allSecret(args.Without(self))
	words := secretWords(&t.Args, args, secret)
	if len(words) == 0 {
		return inapplicable("there are no texts among the arguments")
	}
	if v, ok := args.Lookup(self); ok {
		secret = secret.With(self, v)
	}
	if t.kind == ephemeralFunction {
		return inapplicable("ephemeral values are secret as a whole")
	}
	got, err := t.call(ctx, secret, false)
	if _, refuses := refusedPath(err); refuses && t.kind == methodFunction {
		return unseen("the method refuses secrets: %s", reason(err))
	}
	if err != nil {
		return mistake(err, "invoke with secret arguments")
	}
	if len(got.failures) > 0 {
		return fmt.Errorf("the arguments are refused when they are secret: %s", failuresText(got.failures))
	}
	for _, result := range got.results {
		if err := leakOutcome(result, words, "invoke returns"); err != nil {
			return err
		}
	}
	return nil
}

// self is the name of the argument with the component of a method.
const self = "__self__"

func (t *functionTest) refusesArguments(ctx context.Context, args property.Map) error {
	for _, wrong := range wrongArguments(&t.Args, args) {
		got, err := t.call(ctx, wrong.inputs, false)
		if err := wrong.refusedBy("invoke", got.failures, err); err != nil {
			return err
		}
	}
	return nil
}

// maxResults is how many results of a stream are read, because some streams never end.
const maxResults = 20

// stream reads a stream to its end, or closes it after most results.
func (t *functionTest) stream(ctx context.Context, args property.Map, preview bool, most int) (results []property.Map, err error) {
	handle, err := t.run.main.StreamInvoke(ctx, abi.InvokeRequest{Token: t.Token, Args: args, Preview: preview})
	if err != nil {
		return nil, err
	}
	for len(results) < most {
		item, err := t.run.main.StreamNext(ctx, handle)
		if err != nil {
			return results, fmt.Errorf("result %d: %w", len(results)+1, err)
		}
		if item.Result == nil {
			return results, nil
		}
		results = append(results, *item.Result)
	}
	return results, t.run.main.StreamClose(ctx, handle)
}

// streamOutcome checks that a stream can be closed early, without an effect on other streams.
func (t *functionTest) streamOutcome(ctx context.Context, args property.Map) error {
	whole, err := t.stream(ctx, args, false, maxResults)
	if err != nil {
		return mistake(err, "reading a stream")
	}
	if _, err := t.stream(ctx, args, false, 0); err != nil {
		return fmt.Errorf("closing a stream before its first result: %s", reason(err))
	}
	request := abi.InvokeRequest{Token: t.Token, Args: args}
	first, err := t.run.main.StreamInvoke(ctx, request)
	if err != nil {
		return mistake(err, "beginning a stream again")
	}
	between, err := t.stream(ctx, args, false, maxResults)
	if err != nil {
		return fmt.Errorf("reading a stream while another one is open: %s", reason(err))
	}
	if len(between) != len(whole) {
		return fmt.Errorf("a stream has %d results, and %d while another one is open", len(whole), len(between))
	}
	for range 2 {
		if err := t.run.main.StreamClose(ctx, first); err != nil {
			return fmt.Errorf("closing a stream, and once more: %s", reason(err))
		}
	}
	return nil
}

// ephemeralOutcome checks that a value can be renewed and closed, by another instance, too, and closed again.
func (t *functionTest) ephemeralOutcome(ctx context.Context, args property.Map) error {
	opened, err := t.run.main.OpenEphemeral(ctx, abi.OpenEphemeralRequest{Token: t.Token, Args: args})
	if err != nil {
		return mistake(err, "opening an ephemeral value")
	}
	renewed, err := t.run.other.RenewEphemeral(ctx, abi.RenewEphemeralRequest{Token: t.Token, Private: opened.Private})
	switch {
	case err == nil:
		opened.Private = renewed.Private
	case opened.RenewAfter > 0:
		return fmt.Errorf("renewing an ephemeral value: %s", reason(err))
	}
	for range 2 {
		if err := t.close(ctx, opened.Private); err != nil {
			return err
		}
	}
	return nil
}

func (t *functionTest) close(ctx context.Context, private []byte) error {
	err := t.run.other.CloseEphemeral(ctx, abi.CloseEphemeralRequest{Token: t.Token, Private: private})
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) && !errors.Is(err, abi.ErrNotFound) {
		return fmt.Errorf("closing an ephemeral value: %s", reason(err))
	}
	return nil
}
