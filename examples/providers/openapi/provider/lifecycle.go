package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
)

// implementation is what serves the resource. A resource without an Update is replaced
// by every change.
func (r *resource) implementation() guest.Creator[property.Map, property.Map] {
	if r.update == nil {
		return lasting{r}
	}
	return changing{lasting{r}}
}

// lasting is a resource that cannot be changed, changing one that can.
type (
	lasting  struct{ *resource }
	changing struct{ lasting }
)

const (
	// settleAttempts is how often a resource that was just created is looked for: many
	// services answer before all of their parts know of it.
	settleAttempts = 6
	settleDelay    = 100 * time.Millisecond
)

// Create creates a resource and reads it back. Where reading fails, it exists all the
// same, and what is known of it is kept.
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

// Read reads a resource. Its ID holds the values of its path, so that nothing else is
// needed.
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

// inputsFor are the inputs that would give a state: of an import, all that differ from
// their defaults; else those that were given.
func (r *resource) inputsFor(state, old property.Map, imported bool) property.Map {
	inputs := old
	for i := range r.described.Inputs.Properties {
		p := &r.described.Inputs.Properties[i]
		now := state.Get(p.Name)
		switch given := old.Get(p.Name); {
		case now.Plain().IsNull():
			if r.described.Outputs.Property(p.Name) != nil {
				inputs = inputs.Without(p.Name)
			}
		case !given.Plain().IsNull():
			inputs = inputs.With(p.Name, project(given, fitProperty(p, now)))
		case imported && !(p.HasDefault() && now.Plain().Equal(p.Default)):
			inputs = inputs.With(p.Name, fitProperty(p, now))
		}
	}
	return inputs
}

// project takes of a value the parts that were given; the rest the service has chosen.
// What was secret is so.
func project(given, now property.Value) property.Value {
	if inner, ok := given.AsSecret(); ok {
		return property.Secret(project(inner, now.Plain()))
	}
	if m, ok := given.AsObject(); ok {
		if actual, ok := now.Plain().AsObject(); ok {
			parts := property.Map{}
			for name, part := range m.All() {
				if v, ok := actual.Lookup(name); ok {
					parts = parts.With(name, project(part, v))
				}
			}
			return property.Object(parts)
		}
	}
	if list, ok := given.AsArray(); ok {
		if actual, ok := now.Plain().AsArray(); ok && len(actual) == len(list) {
			elements := make([]property.Value, len(list))
			for i := range list {
				elements[i] = project(list[i], actual[i])
			}
			return property.Array(elements...)
		}
	}
	return now
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

// changes are the properties in an update's body that are not as the inputs have them.
func (r *resource) changes(request guest.UpdateRequest[property.Map, property.Map]) map[string]bool {
	changed := map[string]bool{}
	for name := range r.updated {
		now, before := request.Inputs.Get(name), request.OldInputs.Get(name)
		same := now.EqualContents(before) || now.Plain().IsNull() && before.Plain().IsNull()
		if actual, ok := request.State.Lookup(name); ok && !now.Plain().IsNull() {
			same = same && project(now, actual).EqualContents(now)
		}
		if !same {
			changed[name] = true
		}
	}
	return changed
}

// target is what a PUT is to make of the resource: the inputs, and what the service has
// chosen where nothing was ever given.
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

// change sends an update of the named properties. Those among removed that have no value
// any more are null in a PATCH.
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

// overlay is a state with the inputs of an update that has happened.
func (r *resource) overlay(state, inputs property.Map) property.Map {
	for name, v := range inputs.All() {
		if r.updated[name] && r.described.Outputs.Property(name) != nil {
			state = state.With(name, v)
		}
	}
	return state
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

// open takes a resource out of its envelope.
func (r *resource) open(body property.Value) property.Value {
	if m, ok := body.AsObject(); ok && r.envelope != "" {
		if inner, ok := m.Lookup(r.envelope); ok {
			return inner
		}
	}
	return body
}

// state is what an answer says of a resource. What is known already fills in what it
// does not repeat: values in the path, and parameters.
func (r *resource) state(body property.Value, known property.Map) property.Map {
	answered, _ := r.open(body).AsObject()
	var entries []property.Entry
	for i := range r.described.Outputs.Properties {
		p := &r.described.Outputs.Properties[i]
		v := answered.Get(r.field(p.Name))
		if v.IsNull() && p.Stable {
			v = known.Get(p.Name)
		}
		if !v.Plain().IsNull() {
			entries = append(entries, property.Entry{Key: p.Name, Value: fitProperty(p, v)})
		}
	}
	return property.NewMap(entries...)
}

// message is an operation's message without a body.
func (r *resource) message(o *operation, values []string, known property.Map) (message, error) {
	m := message{path: values, query: url.Values{}, header: http.Header{}}
	for _, p := range r.asked {
		if o.parameter(p.In, p.Name) == nil {
			continue
		}
		text, ok := textOf(known.Get(p.Name))
		switch {
		case !ok:
			return m, guest.InvalidArgument(p.Name, o.method+" "+o.path+" needs it, and it is not known")
		case p.In == openapi3.ParameterInQuery:
			m.query.Set(p.Name, text)
		default:
			m.header.Set(p.Name, text)
		}
	}
	return m, nil
}

// body is the JSON of those of the named properties that have a value.
func (r *resource) body(names map[string]bool, inputs property.Map) (map[string]any, error) {
	body := map[string]any{}
	for name := range names {
		v := inputs.Get(name)
		if v.Plain().IsNull() {
			continue
		}
		value, err := jsonOf(v)
		if err != nil {
			return nil, guest.InvalidArgument(name, err.Error())
		}
		body[r.field(name)] = value
	}
	return body, nil
}

// pathValues are the values in the path that a program gives.
func (r *resource) pathValues(inputs property.Map) ([]string, error) {
	names := r.parents
	if r.chosen != "" {
		names = append(names[:len(names):len(names)], r.chosen)
	}
	var values []string
	for _, name := range names {
		text, ok := textOf(inputs.Get(name))
		if !ok || text == "" {
			return nil, guest.InvalidArgument(name, "it is part of the path, and must not be empty")
		}
		values = append(values, text)
	}
	return values, nil
}

// lastValue is the last value in the path of what was created: in the answer, in the
// header Location, or given by the program; empty where none of them has it.
func (r *resource) lastValue(made *answer, inputs property.Map) string {
	if m, ok := r.open(made.body).AsObject(); ok && r.idField != "" {
		if text, ok := textOf(m.Get(r.idField)); ok && text != "" {
			return text
		}
	}
	if location, err := url.Parse(made.header.Get("Location")); err == nil && location.Path != "" {
		path := strings.TrimRight(location.EscapedPath(), "/")
		if text, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:]); err == nil && text != "" {
			return text
		}
	}
	text, _ := textOf(inputs.Get(r.idField))
	return text
}

// idOf is the ID of the resource with these values in its path. Of several, each is
// escaped as in a path.
func idOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = url.PathEscape(v)
	}
	return strings.Join(escaped, "/")
}

// valuesOf are the values in the path of the resource with the ID.
func (r *resource) valuesOf(id string) ([]string, error) {
	if len(r.parents) == 0 {
		return []string{id}, nil
	}
	values := strings.Split(id, "/")
	names := make([]string, 0, len(r.parents)+1)
	for _, name := range r.parents {
		names = append(names, "<"+name+">")
	}
	names = append(names, "<"+r.last+">")
	if len(values) != len(names) {
		return nil, guest.InvalidArgument("", "the ID of a "+r.described.Token+" is "+strings.Join(names, "/")+", not \""+id+"\"")
	}
	for i := range values {
		text, err := url.PathUnescape(values[i])
		if err != nil {
			return nil, guest.InvalidArgument("", "the ID \""+id+"\": "+err.Error())
		}
		values[i] = text
	}
	return values, nil
}
