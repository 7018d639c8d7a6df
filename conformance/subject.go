package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// subject is what has inputs that are checked: a resource type, or the configuration.
type subject struct {
	run *run
	// name is the subject's in reports, token its type in requests.
	name, token string
	kind        SubjectKind
	inputs      *schema.Object
	// main answers, and other is asked where another instance must answer the same.
	main, other *session
	method      func(abi.Provider, context.Context, abi.CheckRequest) (abi.CheckResponse, error)
	// unchecked is set for a provider that does not implement the method: inputs are taken as
	// they are.
	unchecked bool
}

func (s *subject) check(ctx context.Context, at *session, news property.Map, olds *property.Map, seed []byte) (abi.CheckResponse, error) {
	response, err := ask(ctx, at, s.method, s.run.checkRequest(s.name, s.token, news, olds, seed))
	if errors.Is(err, abi.ErrUnimplemented) {
		s.unchecked = true
		return abi.CheckResponse{Inputs: news}, nil
	}
	return response, err
}

// prepare checks the inputs of a case. Generated inputs that are refused are repaired,
// see [repairer]. The outcome is a *skip for inputs that stay refused.
func (s *subject) prepare(ctx context.Context, c Case) (repaired Case, checked property.Map, outcome error) {
	first := ""
	fix := s.run.repairer(s.name, s.inputs, c)
	repaired = c
	for {
		response, err := s.check(ctx, s.main, repaired.Inputs, nil, seed)
		if err != nil {
			return c, checked, mistake(err, "check answers an error where it should answer failures")
		}
		if len(response.Failures) == 0 {
			return repaired, response.Inputs, s.typesOutcome(response.Inputs)
		}
		if err := s.failuresOutcome(response.Failures); err != nil {
			return c, checked, err
		}
		if first == "" {
			first = fmt.Sprintf("check refuses %s: %s", repaired.Inputs, failuresText(response.Failures))
		}
		if c.written {
			return c, checked, errors.New(first)
		}
		var ok bool
		if repaired.Inputs, ok = fix.next(repaired.Inputs, pathsOf(response.Failures)); !ok {
			return c, checked, refused("%s; %s", first, giveCases)
		}
	}
}

// giveCases says what to do about generated inputs that are refused.
const giveCases = "give inputs that it takes in a file of cases"

// failuresOutcome holds that failures say where, in the syntax of paths, and why.
func (s *subject) failuresOutcome(failures []abi.CheckFailure) error {
	for _, f := range failures {
		if f.Reason == "" {
			return fmt.Errorf("a failure at %q has no reason", f.Path)
		}
		if _, err := property.ParsePath(f.Path); err != nil {
			return fmt.Errorf("the path of a failure cannot be read: %w", err)
		}
	}
	return nil
}

// tested runs a group of checks with each case, and makes smaller what fails.
func (r *run) tested(ctx context.Context, f *findings, o *schema.Object, names []string, cases []Case, attempts int, do func(context.Context, *findings, Case)) {
	if !f.wants(names...) {
		return
	}
	for i := range cases {
		if ctx.Err() != nil || len(names) == 1 && f.failed(names[0]) {
			return
		}
		before := f.failures(names)
		f.begin(&cases[i])
		do(ctx, f, cases[i])
		for _, name := range names {
			if f.wants(name) && f.failed(name) && !before[name] {
				r.minimize(ctx, f, name, o, attempts, do)
			}
		}
	}
}

// failures tells which of the checks have failed.
func (f *findings) failures(names []string) map[string]bool {
	failed := map[string]bool{}
	for _, name := range names {
		failed[name] = f.failed(name)
	}
	return failed
}
