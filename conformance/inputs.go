package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// testInputs tests check, of a resource or of the configuration, with one case.
func (s *subject) testInputs(ctx context.Context, f *findings, c Case) {
	if c.Expect != nil && len(c.Expect.Refused) > 0 {
		return
	}
	c, checked, outcome := s.prepare(ctx, c)
	f.current.Inputs = c.Inputs
	if s.unchecked {
		f.rest(inapplicable("check: not implemented by the provider"), rulesOf(groupInputs)...)
		return
	}
	f.report(ruleCheckAnswers, outcome)
	if outcome != nil {
		f.rest(outcome, rulesOf(groupInputs)...)
		return
	}
	f.try(ruleCheckIdempotent, func() error { return s.idempotent(ctx, checked) })
	f.try(ruleCheckDeterministic, func() error { return s.deterministic(ctx, c.Inputs, checked) })
	f.try(ruleCheckOlds, func() error { return s.keepsOlds(ctx, c.Inputs, checked) })
	f.try(ruleCheckDefaults, func() error { return s.defaults(c.Inputs, checked) })
	f.try(ruleCheckUnknowns, func() error { return s.keepsUnknowns(ctx, c.Inputs) })
	f.try(ruleCheckSecrets, func() error { return s.keepsSecrets(ctx, c.Inputs) })
	f.try(ruleCheckUnknownProperty, func() error { return s.refuses(ctx, unknownProperty(s.inputs, c.Inputs), "") })
	f.try(ruleCheckWrongType, func() error {
		return s.refuses(ctx, wrongTypes(s.inputs, c.Inputs), "no property has a type that refuses anything")
	})
	f.try(ruleCheckRange, func() error {
		return s.refuses(ctx, outOfRange(s.inputs, c.Inputs), "the schema has neither bounds nor lists of values")
	})
	f.try(ruleCheckMissing, func() error { return s.refuses(ctx, missingRequired(s.inputs, c.Inputs), "no property is required") })
}

func (s *subject) typesOutcome(checked property.Map) error {
	if _, failures := s.inputs.Check(ownOnly(checked)); len(failures) > 0 {
		return fmt.Errorf("the inputs that check returns do not fit the schema: %s", failuresText(failures))
	}
	return nil
}

// ownOnly removes properties whose names begin with two underscores. Adapters of other ecosystems'
// providers keep them beside the properties of the schema.
func ownOnly(m property.Map) property.Map {
	for _, name := range m.Keys() {
		if strings.HasPrefix(name, "__") {
			m = m.Without(name)
		}
	}
	return m
}

func (s *subject) idempotent(ctx context.Context, checked property.Map) error {
	for _, olds := range []*property.Map{nil, &checked} {
		again, err := s.accepted(ctx, s.main, checked, olds, otherSeed, "checking checked inputs", "checked inputs are refused")
		if err != nil {
			return err
		}
		if err := differences(property.Diff(checked, again), checked, again, "the first response", "the second"); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) deterministic(ctx context.Context, inputs, checked property.Map) error {
	for _, at := range []*session{s.main, s.other} {
		next, err := s.accepted(ctx, at, inputs, nil, seed, "checking the same inputs again", "inputs that were accepted are refused the next time")
		if err != nil {
			return err
		}
		if err := differences(property.Diff(checked, next), checked, next, "one response", "the next"); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) keepsOlds(ctx context.Context, inputs, checked property.Map) error {
	next, err := s.accepted(ctx, s.main, inputs, &checked, otherSeed, "checking with old inputs", "inputs that were accepted are refused once there are old ones")
	if err != nil {
		return err
	}
	return differences(property.Diff(checked, next), checked, next, "the old inputs", "the new")
}

func (s *subject) defaults(inputs, checked property.Map) error {
	outcome := inapplicable("no property that is not given has a default")
	for i := range s.inputs.Properties {
		p := &s.inputs.Properties[i]
		if !p.HasDefault() || !inputs.Get(p.Name).Plain().IsNull() {
			continue
		}
		if got := checked.Get(p.Name); !got.EqualContents(p.Default) {
			return fmt.Errorf("%s is not given; its default is %s, and check returns %s", p.Name, p.Default, got)
		}
		outcome = nil
	}
	return outcome
}

// Why checks do not apply.
var (
	errNoInputs  = inapplicable("there are no inputs")
	errNoSecrets = inapplicable("the provider does not take secrets; the host marks them")
)

func (s *subject) keepsUnknowns(ctx context.Context, inputs property.Map) error {
	if inputs.Len() == 0 {
		return errNoInputs
	}
	for name, v := range inputs.All() {
		for _, path := range unknownPaths(name, v) {
			checked, err := s.accepted(ctx, s.main, withUnknown(inputs, path), nil, seed,
				fmt.Sprintf("checking with %s not known", path), fmt.Sprintf("with %s not known the inputs are refused", path))
			if err != nil {
				return err
			}
			if part, _ := path.Get(property.Object(checked)); !part.ContainsUnknowns() {
				return fmt.Errorf("%s is not known, and check returns %s", path, part)
			}
		}
	}
	return nil
}

// unknownPaths returns the paths in a property that are tried as unknown: itself and a first part.
func unknownPaths(name string, v property.Value) []property.Path {
	whole := property.Path{property.Key(name)}
	paths := []property.Path{whole}
	plain := v.Plain()
	if elements, ok := plain.AsArray(); ok && len(elements) > 0 {
		paths = append(paths, whole.Append(property.Index(0)))
	}
	if m, ok := plain.AsObject(); ok && m.Len() > 0 {
		paths = append(paths, whole.Append(property.Key(m.Keys()[0])))
	}
	return paths
}

func withUnknown(inputs property.Map, path property.Path) property.Map {
	v, _ := path.Set(property.Object(inputs), property.Unknown)
	m, _ := v.AsObject()
	return m
}

func (s *subject) keepsSecrets(ctx context.Context, inputs property.Map) error {
	if !s.run.takes(abi.FeaturesSecrets) {
		return errNoSecrets
	}
	if inputs.Len() == 0 {
		return errNoInputs
	}
	checked, err := s.accepted(ctx, s.main, allSecret(inputs), nil, seed, "checking secret inputs", "the inputs are refused when they are secret")
	if err != nil {
		return err
	}
	for name := range inputs.All() {
		if path, found := exposed(checked, name); found {
			return fmt.Errorf("%s was given as a secret, and check returns it in plain", path)
		}
	}
	return nil
}

type wrongInput struct {
	inputs property.Map
	name   string
	// what describes the property.
	what string
}

// unheardOf returns the name of a property that the schema does not have.
func unheardOf(o *schema.Object) string {
	name := "noSuchProperty"
	for o.Property(name) != nil {
		name += "Either"
	}
	return name
}

func unknownProperty(o *schema.Object, m property.Map) []wrongInput {
	name := unheardOf(o)
	return []wrongInput{{m.With(name, property.String("x")), name, name + ", which the schema does not have"}}
}

func wrongTypes(o *schema.Object, m property.Map) []wrongInput {
	return replaced(o, m, func(p *schema.Property) (property.Value, bool) { return fakevalue.WrongFor(p.Type) }, func(p *schema.Property) string {
		return ", but the schema asks for " + p.Type.String()
	})
}

func outOfRange(o *schema.Object, m property.Map) []wrongInput {
	return replaced(o, m, fakevalue.OutOfRange, func(*schema.Property) string { return ", which the schema does not allow" })
}

// replaced returns maps in which one property has another value.
func replaced(o *schema.Object, m property.Map, other func(*schema.Property) (property.Value, bool), why func(*schema.Property) string) (list []wrongInput) {
	for i := range o.Properties {
		p := &o.Properties[i]
		if v, ok := other(p); ok {
			list = append(list, wrongInput{m.With(p.Name, v), p.Name, fmt.Sprintf("%s as %s%s", p.Name, v, why(p))})
		}
	}
	return list
}

func missingRequired(o *schema.Object, m property.Map) (list []wrongInput) {
	for i := range o.Properties {
		if p := &o.Properties[i]; p.Required && !p.HasDefault() {
			list = append(list, wrongInput{m.Without(p.Name), p.Name, "inputs without the required " + p.Name})
		}
	}
	return list
}

// wrongArguments returns maps that functions and components must refuse.
func wrongArguments(o *schema.Object, m property.Map) []wrongInput {
	return slices.Concat(unknownProperty(o, m), missingRequired(o, m), wrongTypes(o, m))
}

// refuses checks that check refuses each of the inputs. none is the reason if there are none.
func (s *subject) refuses(ctx context.Context, list []wrongInput, none string) error {
	if len(list) == 0 {
		return inapplicable(none)
	}
	for _, wrong := range list {
		response, err := s.check(ctx, s.main, wrong.inputs, nil, seed)
		if err := wrong.refusedBy("check", response.Failures, err); err != nil {
			return err
		}
	}
	return nil
}

// refusedBy checks that a method has refused the inputs because of the wrong property.
func (w *wrongInput) refusedBy(method string, failures []abi.CheckFailure, err error) error {
	var paths []string
	if path, refuses := refusedPath(err); refuses {
		paths = []string{path}
	} else if err != nil {
		return mistake(err, method+" with "+w.what)
	} else if err := failuresOutcome(failures); err != nil {
		return err
	} else if paths = pathsOf(failures); len(paths) == 0 {
		return fmt.Errorf("%s accepts %s", method, w.what)
	}
	if !slices.ContainsFunc(paths, func(path string) bool { return startsWith(path, w.name) }) {
		return fmt.Errorf("%s refuses %s, but at the paths %q", method, w.what, slices.Compact(paths))
	}
	return nil
}
