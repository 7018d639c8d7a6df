package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/excerpt"
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

// resourceName is the name of all resources of a run, because only one exists at a time.
const resourceName = "conformance"

func urnOf(token string) urn.URN { return urn.New("test", "conformance", "", token, resourceName) }

func (r *run) providerURN() urn.URN { return urnOf(r.providerType()) }

func (r *run) checkRequest(subject, token string, news property.Map, olds *property.Map, seed []byte) abi.CheckRequest {
	request := abi.CheckRequest{URN: urnOf(token), Name: resourceName, Type: token, News: news, Olds: olds, RandomSeed: seed}
	if subject == Configuration {
		request.Name = "default"
	}
	return request
}

func failuresText(failures []abi.CheckFailure) string {
	texts := make([]string, 0, len(failures))
	for i, f := range failures {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		if f.Path == "" {
			texts = append(texts, f.Reason)
		} else {
			texts = append(texts, f.Path+": "+f.Reason)
		}
	}
	return strings.Join(texts, "; ")
}

// maxListed is how many failures or differences a message lists.
const maxListed = 4

// startsWith reports whether the text of a path leads to a property or a part of it.
func startsWith(text, name string) bool {
	return name != "" && firstKey(text) == name
}

// differences returns an error that lists the differences of two maps; nil for none.
func differences(changes []property.Change, was, is property.Map, wasName, isName string) error {
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, 0, maxListed)
	for i, c := range changes {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		before, after, where := excerpt.Pair(at(was, c.Path), at(is, c.Path))
		if before == after {
			after = "another " + after // secrets look alike
		}
		texts = append(texts, fmt.Sprintf("%s is %s in %s and %s in %s%s", c.Path, before, wasName, after, isName, excerpt.Where(where)))
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}

// at returns the text of the value at a path.
func at(m property.Map, path property.Path) string {
	v, ok := path.Get(property.Object(m))
	if !ok {
		return "absent"
	}
	return property.Render(v)
}
