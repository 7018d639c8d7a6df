package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

func (l *life) readRequest(state, inputs *property.Map) abi.ReadRequest {
	return abi.ReadRequest{URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id, State: state, Inputs: inputs}
}

// read reads the created resource as a refresh does, as an import does, and from another instance.
// readable reports whether the refresh works.
func (l *life) read(ctx context.Context) (readable bool) {
	outcome := l.readOutcome(ctx, l.main, "create")
	l.f.report(ruleRead, outcome)
	if isSkip(outcome) {
		l.f.rest(outcome, ruleReadImport, ruleStateless)
		return true // updates can be tested without
	}
	if outcome != nil {
		l.f.rest(errors.New("read does not work"), ruleReadImport, ruleStateless)
		return false
	}
	l.f.try(ruleReadImport, func() error { return l.importOutcome(ctx) })
	l.f.try(ruleStateless, func() error { return l.readOutcome(ctx, l.other, "create") })
	return true
}

func (l *life) readOutcome(ctx context.Context, at *session, method string) error {
	response, err := at.Read(ctx, l.readRequest(&l.state, &l.checked))
	if err != nil {
		return mistake(err, "read")
	}
	if response.ID == "" {
		return fmt.Errorf("read does not find the resource with the ID %q that %s returned", l.id, method)
	}
	if response.ID != l.id {
		return fmt.Errorf("read returns the ID %q, and %s returned %q", response.ID, method, l.id)
	}
	if err := outputsFit(&l.resource.Outputs, response.State, "the state that read returns", false); err != nil {
		return err
	}
	err = differences(property.DiffContents(l.state, response.State), l.state, response.State, "the result of "+method, "that of read")
	if err != nil {
		return err
	}
	if response.Inputs != nil {
		return differences(property.DiffContents(l.checked, *response.Inputs), l.checked, *response.Inputs, "the inputs", "those that read returns")
	}
	return nil
}

// importOutcome checks that an import finds the state, if the provider can import.
func (l *life) importOutcome(ctx context.Context) error {
	response, err := l.main.Read(ctx, l.readRequest(nil, nil))
	if err != nil {
		if outcome := refusal(err, "read by the ID alone"); !isSkip(outcome) {
			return outcome
		} else { // not every resource can be imported
			return follows(outcome)
		}
	}
	if response.ID == "" {
		return unseen("the resource cannot be imported: read by the ID alone does not find it")
	}
	if err := outputsFit(&l.resource.Outputs, response.State, "the state that read returns", false); err != nil {
		return err
	}
	if response.Inputs == nil {
		return errors.New("read by the ID alone returns no inputs, without which nothing can be imported")
	}
	checked, err := l.accepted(ctx, l.main, *response.Inputs, nil, seed, "checking the inputs that read returns", "check refuses the inputs that read returns")
	if err != nil {
		return err
	}
	if l.f.failed(ruleDiffSelf) || l.f.failed(ruleCheckIdempotent) {
		return nil
	}
	request := l.diffRequest(checked)
	request.Olds, request.OldInputs = response.State, *response.Inputs
	return l.sameOutcome(ctx, request, "the inputs that read returns")
}

func (l *life) deleteRequest() abi.DeleteRequest {
	return abi.DeleteRequest{URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id, State: l.state, OldInputs: l.checked}
}

// end deletes the resource, and checks that it is gone.
func (l *life) end(ctx context.Context) {
	exists := l.existsOutcome(ctx)
	if err := l.main.Delete(ctx, l.deleteRequest()); err != nil {
		l.f.report(ruleDelete, mistake(err, "delete"))
		return
	}
	l.deleted = true
	gone := l.goneOutcome(ctx)
	l.f.report(ruleDelete, gone)
	l.f.report(ruleExists, cmp.Or(exists, l.existsOutcome(ctx)))
	l.f.report(ruleDeleteTwice, mistake(l.main.Delete(ctx, l.deleteRequest()), "deleting again"))
	if gone == nil {
		l.gone = l.id
	}
	l.id = "" // there is nothing to clean up
}

// existsOutcome checks that exists agrees with read.
func (l *life) existsOutcome(ctx context.Context) error {
	response, err := l.main.Exists(ctx, abi.ExistsRequest{URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id, State: &l.state})
	if errors.Is(err, abi.ErrUnimplemented) {
		return inapplicable("exists: not implemented by the provider")
	}
	if err != nil {
		return mistake(err, "exists")
	}
	found, err := l.main.Read(ctx, l.readRequest(&l.state, &l.checked))
	if err != nil {
		return follows(refusal(err, "read"))
	}
	there := found.ID != ""
	if there && !response.Exists && l.makesUp(ctx) {
		return errCannotTell
	}
	if there != response.Exists {
		return fmt.Errorf("exists says %t of the resource with the ID %q, and read %t", response.Exists, l.id, there)
	}
	return nil
}

var errCannotTell = unseen("the provider cannot tell whether the resource exists: read finds what never did")

func (l *life) goneOutcome(ctx context.Context) error {
	response, err := l.main.Read(ctx, l.readRequest(&l.state, &l.checked))
	switch {
	case errors.Is(err, abi.ErrNotFound):
		return errors.New("read answers with an error of the kind not-found, which the engine takes for a failure: an empty ID says that the resource is gone")
	case err != nil:
		if outcome := mistake(err, "reading what was deleted"); !isSkip(outcome) {
			return outcome
		} else { // read has an outcome of its own
			return follows(outcome)
		}
	case response.ID == "":
		return nil
	}
	if l.makesUp(ctx) {
		return errCannotTell
	}
	return fmt.Errorf("read finds the resource with the ID %q that was deleted", l.id)
}

// makesUp reports whether read finds the state, or an object, for an ID that never existed.
func (l *life) makesUp(ctx context.Context) bool {
	response, err := l.main.Read(ctx, l.readRequest(nil, nil))
	if isFault(err) {
		return false
	}
	request := l.readRequest(nil, nil)
	if err != nil || response.ID == "" { // it cannot be imported
		request = l.readRequest(&l.state, &l.checked)
	}
	request.ID = neighbour(l.id)
	response, err = l.main.Read(ctx, request)
	return err == nil && response.ID != ""
}

// neighbour returns an ID of the same form, with another last letter or digit.
func neighbour(id string) string {
	b := []byte(id)
	for i := len(b) - 1; i >= 0; i-- {
		switch c := b[i]; {
		case '0' <= c && c < '9', 'a' <= c && c < 'f', 'g' <= c && c < 'z', 'A' <= c && c < 'F', 'G' <= c && c < 'Z':
			b[i]++
		case c == '9', c == 'f', c == 'z', c == 'F', c == 'Z':
			b[i]--
		default:
			continue
		}
		return string(b)
	}
	return id + "x"
}

// cleanUp deletes the resource if a failure left it behind.
func (l *life) cleanUp(ctx context.Context) {
	if l.id == "" {
		return
	}
	// The failure is reported already.
	_ = l.main.Delete(context.WithoutCancel(ctx), l.deleteRequest())
	l.id = ""
}
