package provider

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
)

// change is an update of a resource that is to be made.
type change struct {
	*resource
	values         []string
	inputs, before property.Map
	// state is the recorded state, and latest the last answer, if an operation sends something of it.
	state  property.Map
	latest property.Value
	// names are the properties that are to be changed.
	names map[string]bool
}

// updatesFor returns the operations that take all of the properties, or else all operations.
func (r *resource) updatesFor(names map[string]bool) []*operation {
	var list []*operation
	for _, o := range r.updates {
		takes := true
		for name := range names {
			takes = takes && r.bodies[o][name]
		}
		if takes {
			list = append(list, o)
		}
	}
	if list == nil {
		return r.updates
	}
	return list
}

func (c *change) needsLatest() bool { return slices.ContainsFunc(c.updates, c.resource.needsLatest) }

// apply tries the operations one after the other: some services do not take a PATCH, or report a change that they have not made.
// So it reads changes back. unread is the error of reading back.
func (c *change) apply(ctx context.Context) (state property.Map, unread, err error) {
	var refusals []string
	list := c.updatesFor(c.names)
	for i, o := range list {
		if c.needsLatest() {
			_, latest, err := c.get(ctx, c.values, c.inputs)
			if err != nil {
				return state, nil, err
			}
			c.latest = latest
		}
		if err = c.send(ctx, o); err == nil {
			state, unread, err = c.effect(ctx, o)
		}
		switch more := i < len(list)-1; {
		case err == nil:
			return state, unread, nil
		case more && refused(err):
			refusals = append(refusals, abi.AsError(err).Message)
			continue
		case len(refusals) > 0:
			e := *abi.AsError(err)
			e.Message += "; before that, " + strings.Join(refusals, "; ")
			return state, nil, &e
		}
		break
	}
	return state, nil, err
}

// refused reports whether the service has understood an update and not done it.
func refused(err error) bool {
	e := abi.AsError(err)
	return e.Kind == abi.ErrorKindInvalidArgument || e.Kind == abi.ErrorKindNotFound || e.Kind == abi.ErrorKindUnimplemented
}

// send sends an update.
func (c *change) send(ctx context.Context, o *operation) error {
	m, err := c.message(o, c.values, c.inputs, c.latest)
	if err != nil {
		return err
	}
	m.update = true
	known := m.body
	names, inputs := c.names, c.inputs
	switch {
	case o.isForm() && o.method != http.MethodPut:
		names, inputs = c.partial(o)
	case o.method == http.MethodPut:
		names, inputs = c.bodies[o], c.whole(o)
	case o.method != http.MethodPatch:
		names = c.bodies[o]
	case o.mediaType == document.MergePatch:
		for name := range names {
			inputs = inputs.With(name, mergePatch(c.inputs.Get(name), c.before.Get(name)))
		}
	}
	taken := map[string]bool{}
	for name := range names {
		if c.bodies[o][name] {
			taken[name] = true
		}
	}
	if m.body, err = c.body(taken, inputs); err != nil {
		return err
	}
	maps.Copy(m.body, known)
	if o.method == http.MethodPatch || o.isForm() {
		for name := range taken {
			if c.before.Has(name) && c.inputs.Get(name).Plain().IsNull() {
				m.body[c.field(name)] = nil
			}
		}
	}
	if last := c.path[len(c.path)-1]; !c.says(o) && len(last.found) == 1 {
		m.body[last.found[0]] = c.values[len(c.values)-1] // the path does not say which one
	}
	done, err := c.client.send(ctx, o, m)
	if err != nil {
		return err
	}
	// A creation in place of an update may make another one.
	other := slices.Clone(c.values)
	other[len(other)-1] = ""
	if o == c.create && c.identify(other, done, property.Map{}) == "" && !slices.Equal(other, c.values) {
		return abi.NewError(abi.ErrorKindInternal, o.name()+" did not change "+idOf(c.values)+" but made "+idOf(other)+
			" in its place; delete that in the service, and set update: none, so that a change replaces the resource")
	}
	return nil
}

// partial returns the fields of a form that changes its own fields only: changed and required ones. For an object that it writes
// in parts, it also returns the removed parts.
func (c *change) partial(o *operation) (map[string]bool, property.Map) {
	names, inputs := maps.Clone(c.names), c.inputs
	required := merge(o.body.Value).required
	for name := range c.bodies[o] {
		if required[c.field(name)] {
			names[name] = true
		}
	}
	for name := range names {
		if e := o.encoding[c.field(name)]; e != nil && e.Style == styleDeep {
			inputs = inputs.With(name, mergePatch(inputs.Get(name), c.before.Get(name)))
		}
	}
	return names, inputs
}

// says reports whether an operation has the parameters that identify the member of the collection.
func (c *change) says(o *operation) bool {
	last := c.path[len(c.path)-1].parameter
	if o.parameter(openapi3.ParameterInQuery, last) != nil || c.inBody(o, last) {
		return true
	}
	for i, q := range pathParameters(o.path) {
		if c.indexOf(o, i, q.name) == len(c.path)-1 {
			return true
		}
	}
	return false
}

// whole returns the body of a PUT: the inputs, and the service's choice for inputs that were never given.
func (c *change) whole(o *operation) property.Map {
	whole := c.inputs
	for name := range c.bodies[o] {
		v, ok := c.state.Lookup(name)
		p := c.described.Inputs.Property(name)
		switch {
		case !ok || p == nil:
		case whole.Has(name):
			whole = whole.With(name, filled(whole.Get(name), c.before.Get(name), fitProperty(p, v)))
		case !c.before.Has(name):
			whole = whole.With(name, fitProperty(p, v))
		}
	}
	return whole
}

// effect reads the changes back. A service may take a moment to answer with them. The error names what it has not changed; unread
// is the error of reading.
func (c *change) effect(ctx context.Context, o *operation) (state property.Map, unread, err error) {
	for attempt := 0; ; attempt++ {
		state, _, err := c.get(ctx, c.values, c.inputs)
		if err != nil {
			return state, err, nil
		}
		var list []string
		for name := range c.names {
			now, before := c.inputs.Get(name), c.before.Get(name)
			if !now.EqualContents(before) && c.described.Outputs.Property(name) != nil {
				list = append(list, stuck(now, c.state.Get(name), state.Get(name), name)...)
			}
		}
		if len(list) == 0 {
			return state, nil, nil
		}
		if attempt == settleAttempts-1 {
			slices.Sort(list)
			return state, nil, abi.NewError(abi.ErrorKindInvalidArgument, o.name()+" was successful, but the service has not changed "+strings.Join(list, ", "))
		}
		if err := sleep(ctx, settleDelay<<attempt); err != nil {
			return state, err, nil
		}
	}
}
