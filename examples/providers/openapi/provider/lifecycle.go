package provider

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// implementation returns the implementation of the resource. Without an Update every change replaces it.
func (r *resource) implementation() guest.Creator[property.Map, property.Map] {
	checks := r.keyed || len(r.fixed) > 0
	lasts := lasting{r}
	switch {
	case len(r.updates) == 0 && checks:
		return checkedLasting{lasts}
	case len(r.updates) == 0:
		return lasts
	case checks:
		return checkedChanging{changing{lasts}}
	default:
		return changing{lasts}
	}
}

// lasting is a resource that cannot be changed, changing one that can. The checked ones have inputs that the schema does
// not say all about.
type (
	lasting         struct{ *resource }
	changing        struct{ lasting }
	checkedLasting  struct{ lasting }
	checkedChanging struct{ changing }
)

const (
	// settleAttempts is how often a resource is read until the service finds it, or has the change.
	settleAttempts = 6
	settleDelay    = 100 * time.Millisecond
	// maxWait is the longest time between two questions whether something is done, and patience how long it may take.
	maxWait  = 5 * time.Second
	patience = 30 * time.Minute
)

// Check checks the parameters of the path, and chooses the key of a creation.
func (c checkedLasting) Check(_ context.Context, request guest.CheckRequest[property.Map]) ([]guest.CheckFailure, error) {
	return c.check(request)
}

// Check checks the parameters of the path, and chooses the key of a creation.
func (c checkedChanging) Check(_ context.Context, request guest.CheckRequest[property.Map]) ([]guest.CheckFailure, error) {
	return c.check(request)
}

func (r *resource) check(request guest.CheckRequest[property.Map]) (failures []guest.CheckFailure, err error) {
	if r.keyed {
		chooseKey(request)
	}
	for _, v := range r.path {
		if len(v.input) > 1 && request.Known(v.input[0]) && v.input.text(property.Object(*request.Inputs)) == "" {
			failures = append(failures, guest.CheckFailure{Path: v.input.String(), Reason: "it is part of the path " + r.create.path + ", and must be given"})
		}
	}
	return failures, nil
}

// Diff leaves out what differs only because the service has written an unchanged input in another way.
func (l lasting) Diff(_ context.Context, request guest.DiffRequest[property.Map, property.Map]) (guest.DiffResponse, error) {
	d := request.Default
	now, before := property.Object(request.Inputs), property.Object(request.OldInputs)
	d.DetailedDiff = slices.DeleteFunc(slices.Clone(d.DetailedDiff), func(change abi.PropertyDiff) bool {
		path, err := property.ParsePath(change.Path)
		if err != nil || len(path) == 0 || !request.Known(property.Path{path[0]}.String()) {
			return false
		}
		given, ok := path.Get(now)
		was, existed := path.Get(before)
		return ok && existed && given.EqualContents(was)
	})
	for i := range d.DetailedDiff {
		if l.replaces(d.DetailedDiff[i].Path) {
			d.DetailedDiff[i].Kind = replacing(d.DetailedDiff[i].Kind)
		}
	}
	return d, nil
}

// replaces reports whether a changed path identifies the resource, inside of an object.
func (r *resource) replaces(path string) bool {
	return slices.ContainsFunc(r.fixed, func(f fieldPath) bool {
		return f.String() == path || strings.HasPrefix(f.String(), path+".")
	})
}

func replacing(kind abi.DiffKind) abi.DiffKind {
	switch kind {
	case guest.Add:
		return guest.AddReplace
	case guest.Delete:
		return guest.DeleteReplace
	case guest.Update:
		return guest.UpdateReplace
	}
	return kind
}

// Create creates a resource and reads it back. If that fails, the known state is recorded.
func (l lasting) Create(ctx context.Context, request guest.CreateRequest[property.Map]) (guest.CreateResponse[property.Map], error) {
	var none guest.CreateResponse[property.Map]
	r := l.resource
	values, err := r.given(request.Inputs)
	if err != nil {
		return none, err
	}
	m, err := r.message(r.create, values, request.Inputs, property.Null)
	if err != nil {
		return none, err
	}
	if m.body, err = r.body(r.created, request.Inputs); err != nil {
		return none, err
	}
	m.gone = nil
	made, err := r.client.send(ctx, r.create, m)
	if r.chosen() && errors.Is(err, abi.ErrCancelled) {
		// The service may have done it. The program's inputs are enough to find the resource again.
		state := r.overlay(r.state(property.Null, request.Inputs), request.Inputs)
		if _, missing := r.described.Outputs.Check(state); len(missing) == 0 {
			return guest.CreateResponse[property.Map]{ID: idOf(values), State: state}, err
		}
	}
	if err != nil {
		return none, err
	}
	if missing := r.identify(values, made, request.Inputs); missing != "" {
		return none, abi.NewError(abi.ErrorKindInternal, r.create.method+" "+made.url.Path+
			" created something, but the answer does not say what: it has neither the "+missing+" nor a Location; look for it in the service")
	}
	state := r.state(made.body, request.Inputs)
	err = r.complete(ctx, values, request.Inputs)
	if err == nil {
		var read property.Map
		if read, err = r.settle(ctx, values, request.Inputs); err == nil {
			state = read
			if read, err = r.await(ctx, values, request.Inputs); err == nil && r.waits() {
				state = read
			}
		}
	}
	return guest.CreateResponse[property.Map]{ID: idOf(values), State: state}, err
}

// complete sets those properties that can be changed but not given to the creation.
func (r *resource) complete(ctx context.Context, values []string, inputs property.Map) error {
	rest := map[string]bool{}
	for name := range r.updated {
		if !r.created[name] && !inputs.Get(name).Plain().IsNull() {
			rest[name] = true
		}
	}
	if len(rest) == 0 {
		return nil
	}
	c := change{resource: r, values: values, inputs: inputs, names: rest}
	if c.needsLatest() {
		state, body, err := r.get(ctx, values, inputs)
		if err != nil {
			return err
		}
		c.state, c.latest = state, body
	}
	return c.send(ctx, r.updatesFor(rest)[0])
}

// settle reads a resource that was just created.
func (r *resource) settle(ctx context.Context, values []string, inputs property.Map) (property.Map, error) {
	for attempt := 0; ; attempt++ {
		state, _, err := r.get(ctx, values, inputs)
		if err == nil || attempt == settleAttempts-1 || !errors.Is(err, abi.ErrNotFound) {
			return state, err
		}
		if err := sleep(ctx, settleDelay<<attempt); err != nil {
			return property.Map{}, err
		}
	}
}

// waits reports whether the service is not done when it answers.
func (r *resource) waits() bool { return len(r.overrides.Until)+len(r.overrides.Failed) > 0 }

// await reads a resource until it is as the user says that it is when it is done.
func (r *resource) await(ctx context.Context, values []string, known property.Map) (property.Map, error) {
	if !r.waits() {
		return property.Map{}, nil
	}
	waited, delay := time.Duration(0), settleDelay
	for {
		state, body, err := r.get(ctx, values, known)
		if err != nil {
			return state, err
		}
		body = r.open(body)
		if len(r.overrides.Failed) > 0 && hold(r.overrides.Failed, body) {
			return state, guest.InitFailed("it has failed: " + observed(r.overrides.Failed, body))
		}
		if hold(r.overrides.Until, body) {
			return state, nil
		}
		if waited > patience {
			return state, guest.InitFailed("it is not done after " + patience.String() + ": " + observed(r.overrides.Until, body))
		}
		guest.Log(ctx).Status("waiting: " + observed(r.overrides.Until, body))
		if err := sleep(ctx, delay); err != nil {
			return state, err
		}
		waited, delay = waited+delay, min(2*delay, maxWait)
	}
}

// hold reports whether all conditions hold of an answer.
func hold(conditions document.Conditions, body property.Value) bool {
	for path, values := range conditions {
		v := fieldPathOf(path).in(body)
		if !slices.ContainsFunc(values, func(want any) bool { return v.Plain().Equal(fromAny(want)) }) {
			return false
		}
	}
	return true
}

// observed describes the values of an answer at the paths of conditions: status.phase is "Pending".
func observed(conditions document.Conditions, body property.Value) string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(conditions)) {
		text, ok := textOf(fieldPathOf(path).in(body))
		if !ok {
			text = "not there"
		}
		list = append(list, path+" is "+text)
	}
	return strings.Join(list, ", ")
}

// Read reads a resource. Its ID has the values of its path.
func (l lasting) Read(ctx context.Context, request guest.ReadRequest[property.Map, property.Map]) (guest.ReadResponse[property.Map, property.Map], error) {
	r := l.resource
	var none guest.ReadResponse[property.Map, property.Map]
	values, err := r.valuesOf(request.ID)
	if err != nil {
		return none, err
	}
	known := property.Map{}
	if request.State != nil {
		known = *request.State
	}
	for i, v := range r.path {
		if v.property != "" && !known.Has(v.property) {
			known = known.With(v.property, property.String(values[i]))
		}
	}
	state, _, err := r.get(ctx, values, known)
	if err != nil {
		return none, gone(err)
	}
	if request.Inputs == nil {
		return guest.ReadResponse[property.Map, property.Map]{State: state, Inputs: r.importedInputs(state)}, nil
	}
	return guest.ReadResponse[property.Map, property.Map]{State: state, Inputs: r.inputsFor(state, known, *request.Inputs)}, nil
}

// Delete deletes a resource, and waits until it is gone if the service says that it only begins to.
func (l lasting) Delete(ctx context.Context, request guest.DeleteRequest[property.Map]) error {
	r := l.resource
	values, err := r.valuesOf(request.ID)
	if err != nil {
		return err
	}
	var latest property.Value
	if r.needsLatest(r.remove) {
		if _, latest, err = r.get(ctx, values, request.State); err != nil {
			return gone(err)
		}
	}
	m, err := r.message(r.remove, values, request.State, latest)
	if err != nil {
		return err
	}
	done, err := r.client.send(ctx, r.remove, m)
	if err != nil || done.status != http.StatusAccepted && len(r.overrides.Gone) == 0 && !r.waits() {
		return gone(err)
	}
	for waited, delay := time.Duration(0), settleDelay; ; waited, delay = waited+delay, min(2*delay, maxWait) {
		_, _, err := r.get(ctx, values, request.State)
		switch {
		case errors.Is(err, abi.ErrNotFound):
			return nil
		case err != nil:
			return err
		case waited > patience:
			return abi.NewError(abi.ErrorKindUnavailable, r.remove.name()+" was accepted, but the resource is still there after "+patience.String())
		}
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// gone returns the error for an object that the service says, at the object's own URL, not to exist.
func gone(err error) error {
	if errors.Is(err, abi.ErrNotFound) {
		return guest.NotFound(abi.AsError(err).Message)
	}
	return err
}

// Update changes what differs, by the first operation that takes it.
func (c changing) Update(ctx context.Context, request guest.UpdateRequest[property.Map, property.Map]) (guest.UpdateResponse[property.Map], error) {
	r := c.resource
	var none guest.UpdateResponse[property.Map]
	values, err := r.valuesOf(request.ID)
	if err != nil {
		return none, err
	}
	todo := change{
		resource: r, values: values, inputs: request.Inputs, before: request.OldInputs, state: request.State,
		names: r.changes(request),
	}
	var state property.Map
	var unread error
	if len(todo.names) > 0 {
		state, unread, err = todo.apply(ctx)
	} else {
		state, _, unread = r.get(ctx, values, request.Inputs)
	}
	if err != nil {
		return none, err
	}
	if unread == nil && r.waits() {
		state, unread = r.await(ctx, values, request.Inputs)
	}
	if unread != nil {
		return guest.UpdateResponse[property.Map]{State: r.overlay(request.State, request.Inputs)}, guest.InitFailed(unread.Error())
	}
	return guest.UpdateResponse[property.Map]{State: state}, nil
}

// changes returns the properties in an update's body that have changed, and the ones that completing a creation has not set.
func (r *resource) changes(request guest.UpdateRequest[property.Map, property.Map]) map[string]bool {
	changed := map[string]bool{}
	for name := range r.updated {
		now, before := request.Inputs.Get(name), request.OldInputs.Get(name)
		same := now.EqualContents(before) || now.Plain().IsNull() && before.Plain().IsNull()
		if !r.created[name] && r.described.Outputs.Property(name) != nil && !now.Plain().IsNull() {
			same = same && project(now, request.State.Get(name)).EqualContents(now)
		}
		if !same {
			changed[name] = true
		}
	}
	return changed
}

// get reads a resource: its state, and the answer. known are values that the answer does not repeat.
func (r *resource) get(ctx context.Context, values []string, known property.Map) (property.Map, property.Value, error) {
	m, err := r.message(r.read, values, known, property.Null)
	if err != nil {
		return property.Map{}, property.Null, err
	}
	if len(r.overrides.Gone) > 0 {
		m.gone = r.overrides.Gone // also of an answer that is an error
	}
	got, err := r.client.send(ctx, r.read, m)
	if err != nil {
		return property.Map{}, property.Null, err
	}
	body := r.open(got.body)
	if _, ok := body.AsObject(); !ok {
		return property.Map{}, property.Null, abi.NewError(abi.ErrorKindInternal, r.read.method+" "+got.url.Path+": the answer is not an object, as the document says, but "+got.body.Kind().String())
	}
	if gone := r.overrides.Gone; len(gone) > 0 && hold(gone, body) {
		return property.Map{}, property.Null, abi.NewError(abi.ErrorKindNotFound, r.read.method+" "+got.url.Path+": "+observed(gone, body))
	}
	return r.state(got.body, known), body, nil
}
