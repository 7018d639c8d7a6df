package provider

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// implementation returns what serves the resource. Without an Update every change replaces it.
func (r *resource) implementation() guest.Creator[property.Map, property.Map] {
	switch unchanging := r.update == nil; {
	case unchanging && r.keyed:
		return keyedLasting{lasting{r}}
	case unchanging:
		return lasting{r}
	case r.keyed:
		return keyedChanging{changing{lasting{r}}}
	default:
		return changing{lasting{r}}
	}
}

// lasting is a resource that cannot be changed, changing one that can.
type (
	lasting  struct{ *resource }
	changing struct{ lasting }
)

const (
	// settleAttempts is how often a new resource is read until the service finds it.
	settleAttempts = 6
	settleDelay    = 100 * time.Millisecond
)

// Create creates a resource and reads it back. If that fails, what is known is recorded.
func (l lasting) Create(ctx context.Context, request guest.CreateRequest[property.Map]) (guest.CreateResponse[property.Map], error) {
	var none guest.CreateResponse[property.Map]
	r := l.resource
	values, err := r.pathValues(request.Inputs)
	if err != nil {
		return none, err
	}
	m, err := r.message(r.create, values, request.Inputs)
	if err != nil {
		return none, err
	}
	if m.body, err = r.body(r.created, request.Inputs); err != nil {
		return none, err
	}
	made, err := r.client.send(ctx, r.create, m)
	if r.chosen != "" && errors.Is(err, abi.ErrCancelled) {
		// The service may have done it. What the program gave is enough to find the resource again.
		state := r.overlay(r.state(property.Null, request.Inputs), request.Inputs)
		if _, missing := r.described.Outputs.Check(state); len(missing) == 0 {
			return guest.CreateResponse[property.Map]{ID: idOf(values), State: state}, err
		}
	}
	if err != nil {
		return none, err
	}
	if r.chosen == "" {
		last := r.lastValue(made, request.Inputs)
		if last == "" {
			return none, abi.NewError(abi.ErrorKindInternal, r.create.method+" "+made.url.Path+
				" created something, but the answer does not say what: it has neither an ID nor a Location; look for it in the service")
		}
		values = append(values, last)
	}
	state := r.state(made.body, request.Inputs)
	err = r.complete(ctx, values, request.Inputs)
	if err == nil {
		var read property.Map
		if read, err = r.settle(ctx, values, request.Inputs); err == nil {
			state = read
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
	names := rest
	if r.update.method == http.MethodPut {
		names = r.updated // all of the resource
	}
	return r.change(ctx, values, inputs, names, nil)
}

// settle reads a resource that was just created.
func (r *resource) settle(ctx context.Context, values []string, inputs property.Map) (property.Map, error) {
	for attempt := 0; ; attempt++ {
		state, err := r.get(ctx, values, inputs)
		if err == nil || attempt == settleAttempts-1 || !errors.Is(err, abi.ErrNotFound) {
			return state, err
		}
		if err := sleep(ctx, settleDelay<<attempt); err != nil {
			return property.Map{}, err
		}
	}
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
	for i, name := range r.parents {
		if !known.Has(name) {
			known = known.With(name, property.String(values[i]))
		}
	}
	if r.chosen != "" && !known.Has(r.chosen) {
		known = known.With(r.chosen, property.String(values[len(values)-1]))
	}
	state, err := r.get(ctx, values, known)
	if err != nil {
		return none, err
	}
	inputs := property.Map{}
	if request.Inputs != nil {
		inputs = *request.Inputs
	}
	return guest.ReadResponse[property.Map, property.Map]{State: state, Inputs: r.inputsFor(state, inputs, request.Inputs == nil)}, nil
}

// Delete deletes a resource.
func (l lasting) Delete(ctx context.Context, request guest.DeleteRequest[property.Map]) error {
	values, err := l.valuesOf(request.ID)
	if err != nil {
		return err
	}
	m, err := l.message(l.remove, values, request.State)
	if err != nil {
		return err
	}
	_, err = l.client.send(ctx, l.remove, m)
	return err
}

// Update changes what differs, or puts the whole resource where the service has no PATCH.
func (c changing) Update(ctx context.Context, request guest.UpdateRequest[property.Map, property.Map]) (guest.UpdateResponse[property.Map], error) {
	r := c.resource
	var none guest.UpdateResponse[property.Map]
	values, err := r.valuesOf(request.ID)
	if err != nil {
		return none, err
	}
	changed := r.changes(request)
	if len(changed) > 0 {
		if r.update.method == http.MethodPut {
			changed = r.updated
		}
		if err := r.change(ctx, values, r.target(request), changed, request.OldInputs.Keys()); err != nil {
			return none, err
		}
	}
	state, err := r.get(ctx, values, request.Inputs)
	if err != nil {
		return guest.UpdateResponse[property.Map]{State: r.overlay(request.State, request.Inputs)}, guest.InitFailed(err.Error())
	}
	return guest.UpdateResponse[property.Map]{State: state}, nil
}

// changes returns the properties in an update's body that are not as the inputs have them.
func (r *resource) changes(request guest.UpdateRequest[property.Map, property.Map]) map[string]bool {
	changed := map[string]bool{}
	for name := range r.updated {
		now, before := request.Inputs.Get(name), request.OldInputs.Get(name)
		same := now.EqualContents(before) || now.Plain().IsNull() && before.Plain().IsNull()
		if r.described.Outputs.Property(name) != nil && !now.Plain().IsNull() {
			same = same && project(now, request.State.Get(name)).EqualContents(now)
		}
		if !same {
			changed[name] = true
		}
	}
	return changed
}

// target returns what a PUT sends: the inputs, and the service's choice of what was never given.
func (r *resource) target(request guest.UpdateRequest[property.Map, property.Map]) property.Map {
	target := request.Inputs
	if r.update.method != http.MethodPut {
		return target
	}
	for name := range r.updated {
		if v, ok := request.State.Lookup(name); ok && !target.Has(name) && !request.OldInputs.Has(name) {
			if p := r.described.Inputs.Property(name); p != nil {
				target = target.With(name, fitProperty(p, v))
			}
		}
	}
	return target
}

// change sends an update of the named properties. In a PATCH, a removed property is null.
func (r *resource) change(ctx context.Context, values []string, inputs property.Map, names map[string]bool, removed []string) error {
	m, err := r.message(r.update, values, inputs)
	if err != nil {
		return err
	}
	if m.body, err = r.body(names, inputs); err != nil {
		return err
	}
	if r.update.method == http.MethodPatch {
		for _, name := range removed {
			if names[name] && inputs.Get(name).Plain().IsNull() {
				m.body[r.field(name)] = nil
			}
		}
	}
	_, err = r.client.send(ctx, r.update, m)
	return err
}

// get reads a resource's state; known are values of what the answer does not repeat.
func (r *resource) get(ctx context.Context, values []string, known property.Map) (property.Map, error) {
	m, err := r.message(r.read, values, known)
	if err != nil {
		return property.Map{}, err
	}
	got, err := r.client.send(ctx, r.read, m)
	if err != nil {
		return property.Map{}, err
	}
	if _, ok := r.open(got.body).AsObject(); !ok {
		return property.Map{}, abi.NewError(abi.ErrorKindInternal, r.read.method+" "+got.url.Path+": the answer is not an object, as the document says, but "+got.body.Kind().String())
	}
	return r.state(got.body, known), nil
}
