package conformance

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// cases are those to test a subject with: the written ones, or generated ones. Of
// written ones the first is tested in secret too, for nobody writes that down.
func (r *run) cases(name string, o *schema.Object, written []Case) []Case {
	if len(written) == 0 {
		if r.options.CasesOnly {
			return nil
		}
		return r.casesOf(name, o)
	}
	cases := make([]Case, len(written), len(written)+1)
	for i, c := range written {
		cases[i] = c
		cases[i].written = true
		if c.Name == "" {
			cases[i].Name = fmt.Sprintf("case %d", i+1)
		}
	}
	if first := cases[0]; first.Expect == nil && !first.Inputs.ContainsSecrets() {
		cases = append(cases, secretCase(first))
	}
	return cases
}

// UnknownTokenError is a token in Options that the provider's schema does not have.
type UnknownTokenError struct {
	Token string
	// Nearest is one that it has and that may be meant; empty where none is near.
	Nearest string
	Package string
}

func (e *UnknownTokenError) Error() string {
	text := fmt.Sprintf("the package %s has no %s", e.Package, e.Token)
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", e.Nearest)
	}
	return text
}

// resolveTokens finds the resource types and functions that the options name, which may be
// in the short forms that programs use.
func (r *run) resolveTokens() error {
	if err := r.resolveCases(); err != nil {
		return fmt.Errorf("cases: %w", err)
	}
	allowed := make([]string, len(r.options.AllowUntested))
	for i, name := range r.options.AllowUntested {
		resource, function := r.schema.ResolveResource(name), r.schema.ResolveFunction(name)
		switch {
		case name == Package, name == Configuration:
			allowed[i] = name
		case resource != nil:
			allowed[i] = resource.Token
		case function != nil:
			allowed[i] = function.Token
		default:
			nearest := cmp.Or(r.schema.NearestResource(name), r.schema.NearestFunction(name))
			return fmt.Errorf("what is allowed to be untested: %w", &UnknownTokenError{name, nearest, r.schema.Name})
		}
	}
	r.options.AllowUntested = allowed
	return nil
}

func (r *run) resolveCases() error {
	resources, functions := map[string][]Case{}, map[string][]Case{}
	for token, cases := range r.options.Cases.Resources {
		found := r.schema.ResolveResource(token)
		if found == nil {
			return &UnknownTokenError{token, r.schema.NearestResource(token), r.schema.Name}
		}
		resources[found.Token] = append(resources[found.Token], cases...)
	}
	for token, cases := range r.options.Cases.Functions {
		found := r.schema.ResolveFunction(token)
		if found == nil {
			return &UnknownTokenError{token, r.schema.NearestFunction(token), r.schema.Name}
		}
		functions[found.Token] = append(functions[found.Token], cases...)
	}
	resolved := *r.options.Cases
	resolved.Resources, resolved.Functions = resources, functions
	r.options.Cases = &resolved
	return nil
}

// testConfiguration tests check-config and diff-config, which need no configuration.
func (r *run) testConfiguration(ctx context.Context) {
	s := &subject{
		run: r, name: Configuration, token: r.providerType(), kind: KindConfiguration,
		inputs: &r.schema.Config, main: r.first, other: r.second, method: abi.Provider.CheckConfig,
	}
	cases := r.cases(Configuration, s.inputs, r.options.Cases.Configurations)
	if given := r.options.Config.Len() + r.options.Cases.Config.Len(); given > 0 && len(cases) > 0 {
		cases = append(cases, r.givenCase())
	}
	f := newFindings(Configuration, KindConfiguration, r.options.Only)
	r.tested(ctx, f, s.inputs, rulesOf(groupInputs), cases, attemptsInputs, s.testInputs)
	r.tested(ctx, f, s.inputs, []string{ruleDiffSelf}, cases, attemptsInputs, s.testDiffConfig)
	r.tested(ctx, f, s.inputs, rulesOf(groupHostile), r.hostileCases(s.inputs, cases), attemptsInputs, s.testHostileConfig)
	r.add(f)
}

// testHostileConfig checks and compares configurations of any shape.
func (s *subject) testHostileConfig(ctx context.Context, f *findings, c Case) {
	_, err := s.check(ctx, s.main, c.Inputs, &c.Inputs, nil)
	if !isFault(err) {
		_, err = ask(ctx, s.main, abi.Provider.DiffConfig, abi.DiffRequest{
			URN: urnOf(s.token), Type: s.token, Olds: c.Inputs, OldInputs: c.Inputs, News: c.Inputs, IgnoreChanges: []string{"*"},
		})
	}
	if isFault(err) {
		f.report(ruleHostile, fmt.Errorf("checking and comparing the configuration %s: %w", c.Inputs, err))
		return
	}
	f.report(ruleHostile, nil)
}

// testDiffConfig holds that a configuration does not differ from itself.
func (s *subject) testDiffConfig(ctx context.Context, f *findings, c Case) {
	_, checked, outcome := s.prepare(ctx, c)
	if outcome != nil {
		f.report(ruleDiffSelf, follows(outcome))
		return
	}
	response, err := ask(ctx, s.main, abi.Provider.DiffConfig, abi.DiffRequest{
		URN: urnOf(s.token), Name: "default", Type: s.token, ID: "husk-provider-test",
		Olds: checked, OldInputs: checked, News: checked,
	})
	switch {
	case err != nil:
		f.report(ruleDiffSelf, mistake(err, "diff-config"))
	case response.Changes == abi.DiffChangesSome || len(response.DetailedDiff) > 0:
		f.report(ruleDiffSelf, fmt.Errorf("diff-config finds that a configuration differs from itself: %s", diffText(response)))
	default:
		f.report(ruleDiffSelf, nil)
	}
}

// testResource tests a resource type.
func (r *run) testResource(ctx context.Context, resource *schema.Resource) {
	s := &subject{
		run: r, name: resource.Token, token: resource.Token, kind: KindResource,
		inputs: &resource.Inputs, main: r.main, other: r.other, method: abi.Provider.Check,
	}
	f := newFindings(resource.Token, KindResource, r.options.Only)
	defer func() { r.add(f) }()
	cases := r.cases(resource.Token, s.inputs, r.options.Cases.Resources[resource.Token])
	if len(cases) == 0 {
		return
	}
	if resource.Component {
		r.testComponent(ctx, f, resource, cases)
		return
	}
	r.tested(ctx, f, s.inputs, rulesOf(groupInputs), cases, attemptsInputs, s.testInputs)
	r.tested(ctx, f, s.inputs, rulesOf(groupLife), cases, attemptsLife, func(ctx context.Context, f *findings, c Case) {
		s.testLife(ctx, f, resource, c)
	})
	r.tested(ctx, f, s.inputs, rulesOf(groupCancel), making(cases), 0, s.testCancelled)
	r.tested(ctx, f, s.inputs, rulesOf(groupHostile), r.hostileCases(s.inputs, cases), attemptsInputs, s.testHostile)
}

// making is the first case that is to make something, none where there is none.
func making(cases []Case) []Case {
	for i, c := range cases {
		if c.Expect == nil || len(c.Expect.Refused) == 0 && c.Expect.Error == "" {
			return cases[i : i+1]
		}
	}
	return nil
}

// testUnknownTokens asks for what the schema does not have.
func (r *run) testUnknownTokens(ctx context.Context) {
	f := newFindings(Package, KindPackage, r.options.Only)
	if r.options.CasesOnly && len(r.options.Only) == 0 || !f.wants(ruleUnknownTokens) {
		return
	}
	f.begin(nil)
	f.report(ruleUnknownTokens, r.unknownTokensOutcome(ctx))
	r.add(f)
}

func (r *run) unknownTokensOutcome(ctx context.Context) error {
	token := r.who.Name + ":index:NoSuchThing"
	for r.schema.Resource(token) != nil || r.schema.Function(token) != nil {
		token += "Either"
	}
	u, none := urnOf(token), property.Map{}
	for _, q := range []struct {
		method string
		ask    func() error
	}{
		{"check", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Check, r.checkRequest("", token, none, nil, seed))
			return err
		}},
		{"diff", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Diff, abi.DiffRequest{URN: u, Name: resourceName, Type: token, ID: "x"})
			return err
		}},
		{"create", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Create, abi.CreateRequest{URN: u, Name: resourceName, Type: token, Preview: true})
			return err
		}},
		{"read", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Read, abi.ReadRequest{URN: u, Name: resourceName, Type: token, ID: "x"})
			return err
		}},
		{"update", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Update, abi.UpdateRequest{URN: u, Name: resourceName, Type: token, ID: "x", Preview: true})
			return err
		}},
		{"delete", func() error {
			_, err := ask(ctx, r.main, answerless(abi.Provider.Delete), abi.DeleteRequest{URN: u, Name: resourceName, Type: token, ID: "x"})
			return err
		}},
		{"invoke", func() error {
			_, err := ask(ctx, r.main, abi.Provider.Invoke, abi.InvokeRequest{Token: token})
			return err
		}},
	} {
		if err := unknownTokenOutcome(q.ask(), q.method, token); err != nil {
			return err
		}
	}
	return nil
}

func unknownTokenOutcome(err error, method, token string) error {
	if err == nil {
		return fmt.Errorf("%s answers to %s, which the schema does not have", method, token)
	}
	if isFault(err) {
		return fmt.Errorf("%s of %s: %w", method, token, err)
	}
	e := abi.AsError(err)
	switch e.Kind {
	case abi.ErrorKindUnimplemented:
		return nil
	case abi.ErrorKindNotFound, abi.ErrorKindInvalidArgument:
		if !strings.Contains(e.Message, token) {
			return fmt.Errorf("%s of %s answers an error that does not name it: %s", method, token, reason(err))
		}
		return nil
	}
	return fmt.Errorf("%s of %s answers an error of kind %s: %s", method, token, e.Kind, reason(err))
}
