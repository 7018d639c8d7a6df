package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// subject has inputs to check: a resource type, or the configuration.
type subject struct {
	run *run
	// name is the name of the subject in reports, token is its type in requests.
	name, token string
	inputs      *schema.Object
	// main serves calls. other serves calls that check that another instance does the same.
	main, other *session
	method      func(abi.Provider, context.Context, abi.CheckRequest) (abi.CheckResponse, error)
	// unchecked is set if the provider does not implement the method.
	unchecked bool
}

func (s *subject) check(ctx context.Context, at *session, news property.Map, olds *property.Map, seed []byte) (abi.CheckResponse, error) {
	response, err := s.method(at, ctx, s.run.checkRequest(s.name, s.token, news, olds, seed))
	if errors.Is(err, abi.ErrUnimplemented) {
		s.unchecked = true
		return abi.CheckResponse{Inputs: news}, nil
	}
	return response, err
}

// accepted calls check with inputs that the provider must accept. doing and refusal begin the errors
// of a failed call and of refused inputs.
func (s *subject) accepted(ctx context.Context, at *session, news property.Map, olds *property.Map, seed []byte, doing, refusal string) (property.Map, error) {
	response, err := s.check(ctx, at, news, olds, seed)
	if err != nil {
		return property.Map{}, mistake(err, doing)
	}
	if len(response.Failures) > 0 {
		return property.Map{}, fmt.Errorf("%s: %s", refusal, failuresText(response.Failures))
	}
	return response.Inputs, nil
}

// prepare checks the inputs of a case, and repairs generated ones. The outcome is a *skip for
// inputs that stay refused.
func (s *subject) prepare(ctx context.Context, c Case) (repaired Case, checked property.Map, outcome error) {
	first := ""
	repaired, _ = s.run.repair(s.name, s.inputs, c, func(inputs property.Map) []string {
		response, err := s.check(ctx, s.main, inputs, nil, seed)
		checked = response.Inputs
		switch {
		case err != nil:
			outcome = mistake(err, "check returns an error where it should return failures")
			return nil
		case len(response.Failures) == 0:
			outcome = s.typesOutcome(response.Inputs)
			return nil
		}
		if outcome = failuresOutcome(response.Failures); outcome != nil {
			return nil
		}
		if first == "" {
			first = fmt.Sprintf("check refuses %s: %s", inputs, failuresText(response.Failures))
		}
		outcome = refused("%s; %s", first, giveCases)
		if c.written {
			outcome = errors.New(first)
		}
		return pathsOf(response.Failures)
	})
	return repaired, checked, outcome
}

const giveCases = "give inputs that it takes in a file of cases"

// failuresOutcome checks that failures have a valid path and a reason.
func failuresOutcome(failures []abi.CheckFailure) error {
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
