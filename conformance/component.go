package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

type componentTest struct {
	run *run
	*schema.Resource
}

// testComponent tests a type of component in previews, because the children need not exist then.
func (r *run) testComponent(ctx context.Context, resource *schema.Resource, cases []Case) {
	t := &componentTest{run: r, Resource: resource}
	r.testSubject(ctx, resource.Token, KindResource, &resource.Inputs,
		suite{rulesOf(groupComponent), cases, attemptsInputs, t.test},
		r.hostileSuite(&resource.Inputs, cases, func(m property.Map) []probe {
			return []probe{{"construct", func(ctx context.Context) error {
				_, _, err := t.construct(ctx, r.main, m)
				return err
			}}}
		}))
}

func (t *componentTest) construct(ctx context.Context, at *session, inputs property.Map) (*recorder, abi.ConstructResponse, error) {
	monitor := newRecorder()
	response, err := at.Construct(abi.WithMonitor(ctx, monitor), abi.ConstructRequest{
		Type: t.Token, Name: resourceName, Inputs: inputs, Context: previewContext,
	})
	return monitor, response, err
}

func (t *componentTest) test(ctx context.Context, f *findings, c Case) {
	c, monitor, response, err := t.prepare(ctx, c)
	f.current.Inputs = c.Inputs
	names := rulesOf(groupComponent)
	if err != nil {
		outcome := promised(err, "construct")
		if c.written {
			outcome = fmt.Errorf("construct: %s", reason(err))
		}
		f.report(ruleConstruct, outcome)
		f.rest(outcome, names...)
		return
	}
	outcome := t.constructedOutcome(monitor, response)
	f.report(ruleConstruct, outcome)
	if outcome != nil {
		f.rest(errors.New("construct does not return what it must"), names...)
		return
	}
	f.try(ruleConstructSame, func() error { return t.sameOutcome(ctx, c.Inputs, monitor) })
	f.try(ruleConstructUnknowns, func() error { return t.unknownsOutcome(ctx, c.Inputs) })
	f.try(ruleConstructSecrets, func() error { return t.secretsOutcome(ctx, c.Inputs) })
	f.try(ruleConstructInputs, func() error { return t.refusesOutcome(ctx, c.Inputs) })
}

// prepare constructs the component, and repairs generated inputs that it refuses.
func (t *componentTest) prepare(ctx context.Context, c Case) (repaired Case, monitor *recorder, response abi.ConstructResponse, err error) {
	var first error
	repaired, ok := t.run.repair(t.Token, &t.Inputs, c, func(inputs property.Map) []string {
		monitor, response, err = t.construct(ctx, t.run.main, inputs)
		first = cmp.Or(first, err)
		if path, refused := refusedPath(err); refused {
			return []string{path}
		}
		return nil
	})
	if !ok {
		err = first
	}
	return repaired, monitor, response, err
}

// refusedPath returns the path of an error that refuses an input.
func refusedPath(err error) (path string, refused bool) {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Kind != abi.ErrorKindInvalidArgument || isFault(err) {
		return "", false
	}
	return e.Path, true
}

// constructedOutcome checks the registrations of a component.
func (t *componentTest) constructedOutcome(m *recorder, response abi.ConstructResponse) error {
	own := registeredURN(abi.RegisterResourceRequest{Type: t.Token, Name: resourceName})
	found := false
	for _, r := range m.registered {
		u := registeredURN(r)
		switch {
		case u == own && (r.Custom || r.Remote):
			return errors.New("construct registers the component as a resource that a provider manages")
		case u == own && found:
			return errors.New("construct registers the component twice")
		case u == own:
			found = true
		case r.Parent == "" || !strings.HasPrefix(u.QualifiedType(), t.Token+"$"):
			return fmt.Errorf("construct registers %s, which is not below the component", u)
		}
	}
	if !found {
		return fmt.Errorf("construct does not register %s", own)
	}
	if response.URN != own {
		return fmt.Errorf("construct returns the URN %s, and registered %s", response.URN, own)
	}
	i := slices.IndexFunc(m.outputs, func(o abi.RegisterOutputsRequest) bool { return o.URN == own })
	if i < 0 {
		return errors.New("construct does not register the outputs of the component")
	}
	if registered := m.outputs[i].Outputs; !registered.EqualContents(response.State) {
		return differences(property.DiffContents(registered, response.State), registered, response.State, "the registered outputs", "those that construct returns")
	}
	return outputsFit(&t.Outputs, response.State, "the state that construct returns", true)
}

// sameOutcome checks that another instance makes the same registrations.
func (t *componentTest) sameOutcome(ctx context.Context, inputs property.Map, first *recorder) error {
	for _, at := range []*session{t.run.main, t.run.other} {
		monitor, _, err := t.construct(ctx, at, inputs)
		if err != nil {
			return mistake(err, "constructing again")
		}
		before, after := first.texts(), monitor.texts()
		for i := range max(len(before), len(after)) {
			if i >= len(before) || i >= len(after) {
				return fmt.Errorf("construct registers %d resources, and %d the next time", len(before), len(after))
			}
			if before[i] != after[i] {
				return fmt.Errorf("construct registers %s, and %s the next time", before[i], after[i])
			}
		}
	}
	return nil
}

func (t *componentTest) unknownsOutcome(ctx context.Context, inputs property.Map) error {
	if inputs.Len() == 0 {
		return errNoInputs
	}
	for _, name := range inputs.Keys() {
		m, response, err := t.construct(ctx, t.run.main, inputs.With(name, property.Unknown))
		if err != nil {
			return mistake(err, fmt.Sprintf("construct with %s not known", name))
		}
		if err := t.constructedOutcome(m, response); err != nil {
			return fmt.Errorf("with %s not known: %w", name, err)
		}
	}
	return nil
}

// secretsOutcome checks that secrets stay secret in children and outputs.
func (t *componentTest) secretsOutcome(ctx context.Context, inputs property.Map) error {
	if !t.run.takes(abi.FeaturesSecrets) {
		return errNoSecrets
	}
	tried := false
	for _, name := range inputs.Keys() {
		secret := inputs.With(name, property.Secret(inputs.Get(name)))
		words := secretWords(&t.Inputs, inputs, secret)
		if len(words) == 0 {
			continue
		}
		monitor, response, err := t.construct(ctx, t.run.main, secret)
		if _, refused := refusedPath(err); refused {
			continue // better than to leak it
		}
		if err != nil {
			return mistake(err, fmt.Sprintf("construct with %s in secret", name))
		}
		tried = true
		for _, r := range monitor.registered {
			if r.Type == t.Token {
				r.Name = "itself" // which is where an engine would store the input
			}
			if err := leakOutcome(r.Inputs, words, fmt.Sprintf("construct gives %s an input", r.Name)); err != nil {
				return err
			}
		}
		if err := leakOutcome(response.State, words, "construct returns"); err != nil {
			return err
		}
	}
	if !tried {
		return inapplicable("no input is a text that could be secret")
	}
	return nil
}

func (t *componentTest) refusesOutcome(ctx context.Context, inputs property.Map) error {
	for _, wrong := range wrongArguments(&t.Inputs, inputs) {
		_, _, err := t.construct(ctx, t.run.main, wrong.inputs)
		if err := wrong.refusedBy("construct", nil, err); err != nil {
			return err
		}
	}
	return nil
}
