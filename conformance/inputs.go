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
	for _, t := range []struct {
		name string
		test func(context.Context, property.Map, property.Map) error
	}{
		{ruleCheckIdempotent, s.idempotent},
		{ruleCheckDeterministic, s.deterministic},
		{ruleCheckOlds, s.keepsOlds},
		{ruleCheckDefaults, s.defaults},
		{ruleCheckUnknowns, s.keepsUnknowns},
		{ruleCheckSecrets, s.keepsSecrets},
		{ruleCheckUnknownProperty, s.refusesUnknownProperty},
		{ruleCheckWrongType, s.refusesWrongTypes},
		{ruleCheckRange, s.refusesOutside},
		{ruleCheckMissing, s.refusesMissing},
	} {
		if f.wants(t.name) {
			f.report(t.name, t.test(ctx, c.Inputs, checked))
		}
	}
}

// typesOutcome holds that checked inputs are as the schema says.
func (s *subject) typesOutcome(checked property.Map) error {
	if _, failures := s.inputs.Check(ownOnly(checked)); len(failures) > 0 {
		return fmt.Errorf("the inputs that check answers do not fit the schema: %s", failuresText(failures))
	}
	return nil
}

// ownOnly leaves out what adapters of other ecosystems' providers keep beside the
// schema's properties, under names that begin with two underscores.
func ownOnly(m property.Map) property.Map {
	for _, name := range m.Keys() {
		if strings.HasPrefix(name, "__") {
			m = m.Without(name)
		}
	}
	return m
}

func (s *subject) idempotent(ctx context.Context, _, checked property.Map) error {
	for _, olds := range []*property.Map{nil, &checked} {
		response, err := s.check(ctx, s.main, checked, olds, otherSeed)
		if err != nil {
			return mistake(err, "checking checked inputs")
		}
		if len(response.Failures) > 0 {
			return fmt.Errorf("checked inputs are refused: %s", failuresText(response.Failures))
		}
		err = differences(property.Diff(checked, response.Inputs), checked, response.Inputs, "the first answer", "the second")
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) deterministic(ctx context.Context, inputs, checked property.Map) error {
	for _, at := range []*session{s.main, s.other} {
		response, err := s.check(ctx, at, inputs, nil, seed)
		if err != nil {
			return mistake(err, "checking the same inputs again")
		}
		if len(response.Failures) > 0 {
			return fmt.Errorf("inputs that were accepted are refused the next time: %s", failuresText(response.Failures))
		}
		err = differences(property.Diff(checked, response.Inputs), checked, response.Inputs, "one answer", "the next")
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) keepsOlds(ctx context.Context, inputs, checked property.Map) error {
	response, err := s.check(ctx, s.main, inputs, &checked, otherSeed)
	if err != nil {
		return mistake(err, "checking with old inputs")
	}
	if len(response.Failures) > 0 {
		return fmt.Errorf("inputs that were accepted are refused once there are old ones: %s", failuresText(response.Failures))
	}
	return differences(property.Diff(checked, response.Inputs), checked, response.Inputs, "the old inputs", "the new")
}

func (s *subject) defaults(_ context.Context, inputs, checked property.Map) error {
	tried := false
	for i := range s.inputs.Properties {
		p := &s.inputs.Properties[i]
		if !p.HasDefault() || !inputs.Get(p.Name).Plain().IsNull() {
			continue
		}
		tried = true
		if got := checked.Get(p.Name); !got.EqualContents(p.Default) {
			return fmt.Errorf("%s is not given; its default is %s, and check answers %s", p.Name, p.Default, got)
		}
	}
	if !tried {
		return inapplicable("no property that is not given has a default")
	}
	return nil
}

func (s *subject) keepsUnknowns(ctx context.Context, inputs, _ property.Map) error {
	if inputs.Len() == 0 {
		return inapplicable("there are no inputs")
	}
	for name, v := range inputs.All() {
		for _, path := range unknownPaths(name, v) {
			news := withUnknown(inputs, path)
			response, err := s.check(ctx, s.main, news, nil, seed)
			if err != nil {
				return mistake(err, fmt.Sprintf("checking with %s not known", path))
			}
			if len(response.Failures) > 0 {
				return fmt.Errorf("with %s not known the inputs are refused: %s", path, failuresText(response.Failures))
			}
			part, _ := path.Get(property.Object(response.Inputs))
			if !part.ContainsUnknowns() {
				return fmt.Errorf("%s is not known, and check answers %s", path, part)
			}
		}
	}
	return nil
}

// unknownPaths are the places in a property that are tried: the whole, and, where it
// has parts, the first of them.
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

func (s *subject) keepsSecrets(ctx context.Context, inputs, _ property.Map) error {
	if !s.run.takes(abi.FeaturesSecrets) {
		return inapplicable("the provider does not take secrets; the host marks them")
	}
	if inputs.Len() == 0 {
		return inapplicable("there are no inputs")
	}
	response, err := s.check(ctx, s.main, allSecret(inputs), nil, seed)
	if err != nil {
		return mistake(err, "checking secret inputs")
	}
	if len(response.Failures) > 0 {
		return fmt.Errorf("the inputs are refused when they are secret: %s", failuresText(response.Failures))
	}
	for name := range inputs.All() {
		if path, found := exposed(response.Inputs.Get(name), property.Path{property.Key(name)}); found {
			return fmt.Errorf("%s was given as a secret, and check answers it in plain", path)
		}
	}
	return nil
}

// exposed finds a part of a value that is something and not secret.
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

// unheardOf is a property that the schema does not have.
func unheardOf(o *schema.Object) string {
	name := "noSuchProperty"
	for o.Property(name) != nil {
		name += "Either"
	}
	return name
}

func (s *subject) refusesUnknownProperty(ctx context.Context, inputs, _ property.Map) error {
	name := unheardOf(s.inputs)
	return s.mustRefuse(ctx, inputs.With(name, property.String("x")), name, "which the schema does not have")
}

func (s *subject) refusesWrongTypes(ctx context.Context, inputs, _ property.Map) error {
	return s.refusesEach(ctx, inputs, "no property has a type that refuses anything", func(p *schema.Property) (property.Value, string, bool) {
		v, ok := wrongFor(p.Type)
		return v, fmt.Sprintf("%s where the schema asks for %s", v, p.Type), ok
	})
}

func (s *subject) refusesOutside(ctx context.Context, inputs, _ property.Map) error {
	return s.refusesEach(ctx, inputs, "the schema has neither bounds nor lists of values", func(p *schema.Property) (property.Value, string, bool) {
		v, ok := outside(p)
		return v, fmt.Sprintf("%s, which the schema does not allow", v), ok
	})
}

func (s *subject) refusesMissing(ctx context.Context, inputs, _ property.Map) error {
	tried := false
	for i := range s.inputs.Properties {
		p := &s.inputs.Properties[i]
		if !p.Required || p.HasDefault() {
			continue
		}
		tried = true
		if err := s.mustRefuse(ctx, inputs.Without(p.Name), p.Name, "which is required and missing"); err != nil {
			return err
		}
	}
	if !tried {
		return inapplicable("no property is required")
	}
	return nil
}

// refusesEach holds that values that wrong makes for properties are refused.
func (s *subject) refusesEach(ctx context.Context, inputs property.Map, none string,
	wrong func(*schema.Property) (v property.Value, what string, ok bool),
) error {
	tried := false
	for i := range s.inputs.Properties {
		p := &s.inputs.Properties[i]
		v, what, ok := wrong(p)
		if !ok {
			continue
		}
		tried = true
		if err := s.mustRefuse(ctx, inputs.With(p.Name, v), p.Name, what); err != nil {
			return err
		}
	}
	if !tried {
		return inapplicable(none)
	}
	return nil
}

// mustRefuse holds that inputs are refused because of one property.
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
	if err := s.failuresOutcome(response.Failures); err != nil {
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
