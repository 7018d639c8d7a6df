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

// cases returns the written cases of a subject, or else generated ones. The first written case is also
// tested with secret inputs, because nobody writes such a case.
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

// UnknownTokenError is the error of a token in Options that the provider's schema does not have.
type UnknownTokenError struct {
	Token string
	// Nearest is the most similar token of the schema; empty for none.
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

// resolveTokens replaces the short tokens of the options by full ones.
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
			return fmt.Errorf("allowed to be untested: %w", &UnknownTokenError{name, nearest, r.schema.Name})
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
		run: r, name: Configuration, token: r.providerType(),
		inputs: &r.schema.Config, main: r.first, other: r.second, method: abi.Provider.CheckConfig,
	}
	cases := r.cases(Configuration, s.inputs, r.options.Cases.Configurations)
	if given := r.options.Config.Len() + r.options.Cases.Config.Len(); given > 0 && len(cases) > 0 {
		cases = append(cases, r.givenCase())
	}
	r.testSubject(ctx, Configuration, KindConfiguration, s.inputs,
		suite{rulesOf(groupInputs), cases, attemptsInputs, s.testInputs},
		suite{[]string{ruleDiffSelf}, cases, attemptsInputs, s.testDiffConfig},
		r.hostileSuite(s.inputs, cases, s.configProbes))
}

func (s *subject) configProbes(config property.Map) []probe {
	return []probe{
		s.checkProbe("check-config", config, &config),
		probeOf("diff-config", s.main.DiffConfig, abi.DiffRequest{
			URN: urnOf(s.token), Type: s.token, Olds: config, OldInputs: config, News: config, IgnoreChanges: []string{"*"},
		}),
	}
}

// testDiffConfig checks that a configuration does not differ from itself.
func (s *subject) testDiffConfig(ctx context.Context, f *findings, c Case) {
	_, checked, outcome := s.prepare(ctx, c)
	if outcome != nil {
		f.report(ruleDiffSelf, follows(outcome))
		return
	}
	response, err := s.main.DiffConfig(ctx, abi.DiffRequest{
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

func (r *run) testResource(ctx context.Context, resource *schema.Resource) {
	s := &subject{
		run: r, name: resource.Token, token: resource.Token,
		inputs: &resource.Inputs, main: r.main, other: r.other, method: abi.Provider.Check,
	}
	cases := r.cases(resource.Token, s.inputs, r.options.Cases.Resources[resource.Token])
	switch {
	case len(cases) == 0:
	case resource.Component:
		r.testComponent(ctx, resource, cases)
	default:
		r.testSubject(ctx, resource.Token, KindResource, s.inputs,
			suite{rulesOf(groupInputs), cases, attemptsInputs, s.testInputs},
			suite{rulesOf(groupLife), cases, attemptsLife, func(ctx context.Context, f *findings, c Case) { s.testLife(ctx, f, resource, c) }},
			suite{rulesOf(groupCancel), making(cases), 0, s.testCancelled},
			r.hostileSuite(s.inputs, cases, s.probes))
	}
}

func (s *subject) checkProbe(what string, news property.Map, olds *property.Map) probe {
	return probe{what, func(ctx context.Context) error {
		_, err := s.check(ctx, s.main, news, olds, nil)
		return err
	}}
}

// probes call the methods of a resource that change nothing.
func (s *subject) probes(bag property.Map) []probe {
	u, main := urnOf(s.token), s.main
	// read may return the state of its request, but nothing unknown.
	known := bag.Transform(func(v property.Value) property.Value {
		if v.IsUnknown() {
			return property.Null
		}
		return v
	})
	return []probe{
		s.checkProbe("check", bag, nil),
		s.checkProbe("check with old inputs", bag, &bag),
		probeOf("diff", main.Diff, abi.DiffRequest{
			URN: u, Type: s.token, ID: "", Olds: bag, OldInputs: bag, News: bag, IgnoreChanges: []string{"*", `a["`, ""},
		}),
		probeOf("diff with nothing", main.Diff, abi.DiffRequest{URN: u, Type: s.token, ID: "x", News: bag}),
		probeOf("the preview of create", main.Create, abi.CreateRequest{URN: u, Type: s.token, Inputs: bag, Timeout: -1, Preview: true}),
		probeOf("the preview of update", main.Update, abi.UpdateRequest{
			URN: u, Type: s.token, ID: "../x\n", Olds: bag, OldInputs: bag, News: bag, Timeout: -1, Preview: true,
		}),
		probeOf("read", main.Read, abi.ReadRequest{URN: u, Type: s.token, ID: "no such ID", State: &known, Inputs: &known}),
	}
}

// making returns the first case that expects no failure, if there is one.
func making(cases []Case) []Case {
	for i, c := range cases {
		if c.Expect == nil || len(c.Expect.Refused) == 0 && c.Expect.Error == "" {
			return cases[i : i+1]
		}
	}
	return nil
}

// unknownTokensOutcome calls methods with a token that the schema does not have.
func (r *run) unknownTokensOutcome(ctx context.Context) error {
	token := r.who.Name + ":index:NoSuchThing"
	for r.schema.Resource(token) != nil || r.schema.Function(token) != nil {
		token += "Either"
	}
	u, main := urnOf(token), r.main
	for _, p := range []probe{
		probeOf("check", main.Check, r.checkRequest("", token, property.Map{}, nil, seed)),
		probeOf("diff", main.Diff, abi.DiffRequest{URN: u, Name: resourceName, Type: token, ID: "x"}),
		probeOf("create", main.Create, abi.CreateRequest{URN: u, Name: resourceName, Type: token, Preview: true}),
		probeOf("read", main.Read, abi.ReadRequest{URN: u, Name: resourceName, Type: token, ID: "x"}),
		probeOf("update", main.Update, abi.UpdateRequest{URN: u, Name: resourceName, Type: token, ID: "x", Preview: true}),
		{"delete", func(ctx context.Context) error {
			return main.Delete(ctx, abi.DeleteRequest{URN: u, Name: resourceName, Type: token, ID: "x"})
		}},
		probeOf("invoke", main.Invoke, abi.InvokeRequest{Token: token}),
	} {
		if err := unknownTokenOutcome(p.call(ctx), p.what, token); err != nil {
			return err
		}
	}
	return nil
}

func unknownTokenOutcome(err error, method, token string) error {
	if err == nil {
		return fmt.Errorf("%s accepts %s, which the schema does not have", method, token)
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
			return fmt.Errorf("%s of %s returns an error that does not name it: %s", method, token, reason(err))
		}
		return nil
	}
	return fmt.Errorf("%s of %s returns an error of kind %s: %s", method, token, e.Kind, reason(err))
}
