package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/fakevalue"
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
	f.try(ruleCheckUnknownProperty, func() error { return s.refusesUnknownProperty(ctx, c.Inputs) })
	f.try(ruleCheckWrongType, func() error { return s.refusesWrongTypes(ctx, c.Inputs) })
	f.try(ruleCheckRange, func() error { return s.refusesOutside(ctx, c.Inputs) })
	f.try(ruleCheckMissing, func() error { return s.refusesMissing(ctx, c.Inputs) })
}

// typesOutcome checks that checked inputs fit the schema.
func (s *subject) typesOutcome(checked property.Map) error {
	if _, failures := s.inputs.Check(ownOnly(checked)); len(failures) > 0 {
		return fmt.Errorf("the inputs that check answers do not fit the schema: %s", failuresText(failures))
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
		if err := differences(property.Diff(checked, again), checked, again, "the first answer", "the second"); err != nil {
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
		if err := differences(property.Diff(checked, next), checked, next, "one answer", "the next"); err != nil {
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
	return eachProperty(s.inputs, "no property that is not given has a default", func(p *schema.Property) (tried bool, err error) {
		if !p.HasDefault() || !inputs.Get(p.Name).Plain().IsNull() {
			return false, nil
		}
		if got := checked.Get(p.Name); !got.EqualContents(p.Default) {
			err = fmt.Errorf("%s is not given; its default is %s, and check answers %s", p.Name, p.Default, got)
		}
		return true, err
	})
}

// eachProperty calls try for each property until it fails. none is the reason to skip the check if
// try tries no property.
func eachProperty(o *schema.Object, none string, try func(*schema.Property) (tried bool, err error)) error {
	outcome := inapplicable(none)
	for i := range o.Properties {
		tried, err := try(&o.Properties[i])
		if err != nil {
			return err
		}
		if tried {
			outcome = nil
		}
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
				return fmt.Errorf("%s is not known, and check answers %s", path, part)
			}
		}
	}
	return nil
}

// unknownPaths returns the paths in a property that are tried as unknown: the whole, and its first
// part.
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
		if path, found := exposed(checked.Get(name), property.Path{property.Key(name)}); found {
			return fmt.Errorf("%s was given as a secret, and check answers it in plain", path)
		}
	}
	return nil
}

// exposed returns the path of the first known part of a value that is not secret.
func exposed(v property.Value, at property.Path) (path property.Path, found bool) {
	if v.IsSecret() || v.IsNull() || v.IsUnknown() {
		return nil, false
	}
	if o, ok := v.AsOutput(); ok {
		if o.Secret {
			return nil, false
		}
		return exposed(o.Value, at)
	}
	if elements, ok := v.AsArray(); ok {
		for i, e := range elements {
			if path, found = exposed(e, at.Append(property.Index(i))); found {
				return path, true
			}
		}
		return nil, false
	}
	if m, ok := v.AsObject(); ok {
		for key, e := range m.All() {
			if path, found = exposed(e, at.Append(property.Key(key))); found {
				return path, true
			}
		}
		return nil, false
	}
	return at, true
}

// unheardOf returns the name of a property that the schema does not have.
func unheardOf(o *schema.Object) string {
	name := "noSuchProperty"
	for o.Property(name) != nil {
		name += "Either"
	}
	return name
}

func (s *subject) refusesUnknownProperty(ctx context.Context, inputs property.Map) error {
	name := unheardOf(s.inputs)
	return s.mustRefuse(ctx, inputs.With(name, property.String("x")), name, "which the schema does not have")
}

func (s *subject) refusesWrongTypes(ctx context.Context, inputs property.Map) error {
	return eachProperty(s.inputs, "no property has a type that refuses anything", func(p *schema.Property) (bool, error) {
		v, ok := fakevalue.WrongFor(p.Type)
		if !ok {
			return false, nil
		}
		return true, s.mustRefuse(ctx, inputs.With(p.Name, v), p.Name, fmt.Sprintf("%s where the schema asks for %s", v, p.Type))
	})
}

func (s *subject) refusesOutside(ctx context.Context, inputs property.Map) error {
	return eachProperty(s.inputs, "the schema has neither bounds nor lists of values", func(p *schema.Property) (bool, error) {
		v, ok := fakevalue.OutOfRange(p)
		if !ok {
			return false, nil
		}
		return true, s.mustRefuse(ctx, inputs.With(p.Name, v), p.Name, fmt.Sprintf("%s, which the schema does not allow", v))
	})
}

func (s *subject) refusesMissing(ctx context.Context, inputs property.Map) error {
	return eachProperty(s.inputs, "no property is required", func(p *schema.Property) (bool, error) {
		if !p.Required || p.HasDefault() {
			return false, nil
		}
		return true, s.mustRefuse(ctx, inputs.Without(p.Name), p.Name, "which is required and missing")
	})
}

// mustRefuse checks that inputs are refused because of one property.
func (s *subject) mustRefuse(ctx context.Context, news property.Map, name, what string) error {
	response, err := s.check(ctx, s.main, news, nil, seed)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Kind == abi.ErrorKindInvalidArgument && startsWith(e.Path, name) {
		return nil
	}
	if err != nil {
		return mistake(err, fmt.Sprintf("checking inputs with %s, %s", name, what))
	}
	if len(response.Failures) == 0 {
		return fmt.Errorf("check accepts %s, %s", name, what)
	}
	if err := failuresOutcome(response.Failures); err != nil {
		return err
	}
	if !refusedAt(response.Failures, name) {
		paths := make([]string, len(response.Failures))
		for i, f := range response.Failures {
			paths[i] = fmt.Sprintf("%q", f.Path)
		}
		return fmt.Errorf("check refuses %s, %s, but at the paths %s", name, what, slices.Compact(paths))
	}
	return nil
}
