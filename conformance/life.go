package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/base/excerpt"
)

// life takes one resource from its creation to its end.
type life struct {
	*subject
	resource *schema.Resource
	f        *findings
	c        Case

	checked property.Map
	// id is the ID of the resource; empty before its creation.
	id    string
	state property.Map
	// first are the inputs of the creation. made is the state after it; nil if it failed.
	first property.Map
	made  *property.Map
	// deleted is set after a successful delete. gone is the ID of the resource if read no longer
	// finds it then.
	gone    string
	deleted bool
}

func (s *subject) testLife(ctx context.Context, f *findings, resource *schema.Resource, c Case) {
	l := &life{subject: s, resource: resource, f: f}
	why := l.live(ctx, c)
	if why == nil {
		why = errors.New("nothing made it possible")
	}
	names := rulesOf(groupLife)
	if c.Expect == nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name == ruleExpectations })
	}
	f.rest(why, names...)
}

// live runs the life of the resource. why is the reason if it ends early.
func (l *life) live(ctx context.Context, c Case) (why error) {
	if c.Expect != nil && len(c.Expect.Refused) > 0 {
		l.f.report(ruleExpectations, l.refusalOutcome(ctx, c))
		return l.toFail("the inputs are to be refused")
	}
	var outcome error
	if l.c, l.checked, outcome = l.prepare(ctx, c); outcome != nil {
		l.f.report(ruleCheckAnswers, outcome)
		return outcome
	}
	l.f.current.Inputs, l.first = l.c.Inputs, l.checked
	if l.run.options.ReadOnly {
		l.previews(ctx)
		return errors.New("nothing is to be created")
	}
	if why = l.create(ctx); why != nil {
		l.previews(ctx)
		return why
	}
	defer l.cleanUp(ctx)
	made := l.state
	l.made = &made
	l.f.report(ruleSecrets, l.secretsKept(l.state, "create"))
	l.diffs(ctx)
	if l.read(ctx) {
		l.updates(ctx)
	}
	l.list(ctx)
	l.end(ctx)
	l.replacements(ctx)
	l.previews(ctx)
	return nil
}

// toFail returns why a case that expects a failure creates nothing. Another case must create something.
func (l *life) toFail(why string) error {
	if options := l.run.options; !options.CasesOnly && !options.ReadOnly {
		l.f.report(ruleCreate, refused("%s, and so in all cases: add one that makes something", why))
	}
	return errors.New(why)
}

// refusalOutcome checks that check refuses the inputs at the paths that the case expects.
func (l *life) refusalOutcome(ctx context.Context, c Case) error {
	response, err := l.check(ctx, l.main, c.Inputs, nil, seed)
	if err != nil {
		return mistake(err, "check")
	}
	for _, path := range c.Expect.Refused {
		if !slices.ContainsFunc(response.Failures, func(f abi.CheckFailure) bool { return f.Path == path }) {
			return fmt.Errorf("check is to refuse %q, and says: %s", path, orNothing(failuresText(response.Failures)))
		}
	}
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

func (l *life) createRequest(inputs property.Map, preview bool) abi.CreateRequest {
	return abi.CreateRequest{URN: urnOf(l.token), Name: resourceName, Type: l.token, Inputs: inputs, Preview: preview}
}

// create creates the resource. why is the reason if there is no resource afterwards.
func (l *life) create(ctx context.Context) (why error) {
	response, err := l.main.Create(ctx, l.createRequest(l.checked, false))
	l.created(response, err)
	expected := ""
	if l.c.Expect != nil {
		expected = l.c.Expect.Error
	}
	if err != nil {
		if l.id != "" {
			defer l.cleanUp(ctx)
		}
		if expected != "" {
			l.f.report(ruleExpectations, kindOutcome(err, expected))
			return l.toFail("the creation is to fail")
		}
		outcome := promised(err, "create")
		if l.c.written {
			outcome = fmt.Errorf("create: %s", reason(err))
		}
		l.f.report(ruleCreate, outcome)
		return fmt.Errorf("create: %s", reason(err))
	}
	if expected != "" {
		l.f.report(ruleExpectations, fmt.Errorf("create must return the error %s, and succeeds", expected))
	}
	outcome := l.createdOutcome(response)
	l.f.report(ruleCreate, outcome)
	if outcome != nil {
		l.cleanUp(ctx)
		return errors.New("create does not return what it must")
	}
	if l.c.Expect != nil && expected == "" {
		l.f.report(ruleExpectations, outputsOutcome(l.c.Expect.Outputs, l.state))
	}
	return nil
}

// created keeps the object of a create. A failed create may have made one, too.
func (l *life) created(response abi.CreateResponse, err error) {
	l.id, l.state = response.ID, response.State
	if e, ok := errors.AsType[*abi.Error](err); ok && e.InitFailure != nil {
		l.id, l.state = e.InitFailure.ID, e.InitFailure.State
	}
}

func kindOutcome(err error, expected string) error {
	if got := abi.AsError(err).Kind.String(); got != expected {
		return fmt.Errorf("the error is to be of kind %s, and is of kind %s: %s", expected, got, reason(err))
	}
	return nil
}

// outputsOutcome checks that outputs have at least the expected values.
func outputsOutcome(expected, got property.Map) error {
	for name, v := range expected.All() {
		if w := got.Get(name); !w.EqualContents(v) {
			wanted, is, where := excerpt.Pair(property.Render(v), property.Render(w))
			return fmt.Errorf("%s is to be %s, and is %s%s", name, wanted, is, excerpt.Where(where))
		}
	}
	return nil
}

func (l *life) createdOutcome(response abi.CreateResponse) error {
	if response.ID == "" {
		return errors.New("create returns no ID")
	}
	return outputsFit(&l.resource.Outputs, response.State, "the state that create returns", false)
}

// outputsFit checks that a state or a result fits the schema, and is known outside of a preview.
func outputsFit(outputs *schema.Object, m property.Map, what string, preview bool) error {
	for name, v := range m.All() {
		if v.ContainsUnknowns() && !preview {
			return fmt.Errorf("%s has %s as %s, and nothing may be unknown outside of a preview", what, name, v)
		}
	}
	m = ownOnly(m)
	for _, name := range [...]string{"id", "urn"} {
		if outputs.Property(name) == nil {
			m = m.Without(name) // every resource has these
		}
	}
	if _, failures := outputs.Check(m); len(failures) > 0 {
		return fmt.Errorf("%s does not fit the schema: %s", what, failuresText(failures))
	}
	return nil
}

func (l *life) list(ctx context.Context) {
	l.f.try(ruleList, func() error {
		if l.f.failed(ruleUpdate) {
			return unseen("update does not work")
		}
		return l.listOutcome(ctx)
	})
}

const maxPages = 100

func (l *life) listOutcome(ctx context.Context) error {
	request := abi.ListRequest{Token: l.token, PageSize: 50}
	for range maxPages {
		response, err := l.main.List(ctx, request)
		if err != nil {
			return refusal(err, "list")
		}
		if slices.ContainsFunc(response.Resources, func(r abi.ListedResource) bool { return r.ID == l.id }) {
			return nil
		}
		if response.ContinuationToken == "" {
			return fmt.Errorf("the list does not have the resource with the ID %q that was created", l.id)
		}
		request.ContinuationToken = response.ContinuationToken
	}
	return unseen("the list has more than %d pages", maxPages)
}
