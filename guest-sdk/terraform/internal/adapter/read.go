package adapter

import (
	"cmp"
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func (p *provider) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return abi.ReadResponse{}, err
	}
	if err := p.decided(ctx); err != nil {
		return abi.ReadResponse{}, err
	}
	ctx, end := begin(ctx, request.URN, request.Timeout)
	defer end()
	imports := request.State == nil // a state without properties is one of a resource
	var prior recorded
	if imports {
		prior.State, err = p.imported(ctx, r, request.ID)
	} else {
		prior, err = p.recorded(ctx, r, *request.State, request.ID)
	}
	if err == nil && prior.outdated {
		request, prior, err = p.asNow(ctx, r, request, prior)
	}
	current := prior.State
	if err != nil || current.Value == nil {
		return abi.ReadResponse{}, err
	}
	found, diagnostics, err := p.server.Read(ctx, r.name, current)
	if err := outcome(ctx, diagnostics, err, &located{attributes: r.Attributes}); err != nil {
		return abi.ReadResponse{}, err
	}
	value, err := decoded(r.Attributes.Wire(), found.Value)
	if err != nil {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindInternal, "the provider returned a state that its schema does not have: "+err.Error())
	}
	if value.IsNull() {
		return abi.ReadResponse{}, nil
	}
	if found.Identity == nil {
		found.Identity = current.Identity
	}
	id := request.ID
	if imports {
		id = "" // what imports take may be another text than the ID
	}
	state, id, faults := p.properties(r, found, value, id, request.ID)
	if len(faults) > 0 {
		return abi.ReadResponse{}, abi.AsError(faults[0].err) // the record stays as it is
	}
	if prior.tainted {
		state = taint(state)
	}
	response := abi.ReadResponse{ID: cmp.Or(id, request.ID), State: state}
	var inputs property.Map
	if imports || request.Inputs == nil {
		inputs = configured(r.Attributes, state)
	} else {
		inputs = refreshed(r.Attributes, *request.Inputs, *request.State, state)
		response.State = keepSecrets(response.State, *request.Inputs)
	}
	if !imports {
		response.State = keepSecrets(response.State, *request.State)
	}
	response.Inputs = &inputs
	return response, nil
}

// imported returns the state with which an import begins, without a value if there is nothing.
func (p *provider) imported(ctx context.Context, r *resource, id string) (tf.State, error) {
	all, found, err := p.server.Import(ctx, r.name, id)
	if err := outcome(ctx, found, err, nil); err != nil {
		return tf.State{}, err
	}
	for _, one := range all {
		if one.Type != r.name {
			continue
		}
		value, err := decoded(r.Attributes.Wire(), one.Value)
		if err != nil {
			return tf.State{}, abi.NewError(abi.ErrorKindInternal, "the provider imported a state that its schema does not have: "+err.Error())
		}
		if value.IsNull() {
			return tf.State{}, nil
		}
		return one.State, nil
	}
	return tf.State{}, nil
}

// configured returns the inputs that would make a state. Deprecated attributes, and optional empty ones, are left out.
func configured(s *tf.Attributes, state property.Map) property.Map {
	var entries []property.Entry
	for _, a := range s.List {
		v := state.Get(a.Property)
		if !a.Settable() || a.Hidden || a.Name == "id" && isID(a) || v.Plain().IsNull() {
			continue
		}
		v = configuredValue(flattened(a), v)
		if !a.Required && (a.Deprecation != "" || isEmpty(v.Plain())) {
			continue
		}
		entries = append(entries, property.Entry{Key: a.Property, Value: v})
	}
	return property.NewMap(entries...)
}

// flattened returns the type of the attribute's property.
func flattened(a *tf.Attribute) *tf.Type {
	if a.Flat {
		return a.Type.Element
	}
	return a.Type
}

func configuredValue(t *tf.Type, v property.Value) property.Value {
	if inner, ok := v.AsSecret(); ok {
		return property.Secret(configuredValue(t, inner))
	}
	switch t.Kind {
	case tf.Object:
		if m, ok := v.AsObject(); ok {
			return property.Object(configured(t.Object, m))
		}
	case tf.List, tf.Set:
		if list, ok := v.AsArray(); ok {
			out := make([]property.Value, len(list))
			for i := range list {
				out[i] = configuredValue(t.Element, list[i])
			}
			return property.Array(out...)
		}
	case tf.Map:
		if m, ok := v.AsObject(); ok {
			entries := make([]property.Entry, 0, m.Len())
			for key, part := range m.All() {
				entries = append(entries, property.Entry{Key: key, Value: configuredValue(t.Element, part)})
			}
			return property.Object(property.NewMap(entries...))
		}
	}
	return v
}

// isEmpty reports whether v is an empty text, array, or object.
func isEmpty(v property.Value) bool {
	if s, ok := v.AsString(); ok {
		return s == ""
	}
	if list, ok := v.AsArray(); ok {
		return len(list) == 0
	}
	m, ok := v.AsObject()
	return ok && m.Len() == 0
}

// refreshed returns the inputs with the changes between two states. Inputs that the program left out stay out.
func refreshed(s *tf.Attributes, inputs, before, after property.Map) property.Map {
	entries := make([]property.Entry, 0, inputs.Len())
	for key, input := range inputs.All() {
		a := s.OfProperty(key)
		if a == nil || a.WriteOnly {
			entries = append(entries, property.Entry{Key: key, Value: input})
			continue
		}
		if v := refreshedValue(flattened(a), input, before.Get(key), after.Get(key)); !v.Plain().IsNull() {
			entries = append(entries, property.Entry{Key: key, Value: v})
		}
	}
	return property.NewMap(entries...)
}

func refreshedValue(t *tf.Type, input, before, after property.Value) property.Value {
	if inner, ok := input.AsSecret(); ok {
		return property.Secret(refreshedValue(t, inner, before.Plain(), after.Plain()))
	}
	before, after = before.Plain(), after.Plain()
	if before.EqualContents(after) {
		return input
	}
	if t.Kind == tf.Object {
		x, isX := input.AsObject()
		y, isY := before.AsObject()
		z, isZ := after.AsObject()
		if isX && isY && isZ {
			return property.Object(refreshed(t.Object, x, y, z))
		}
	}
	if t.Kind == tf.List {
		x, _ := input.AsArray()
		y, _ := before.AsArray()
		z, isZ := after.AsArray()
		if isZ && len(x) == len(z) && len(y) == len(z) {
			out := make([]property.Value, len(z))
			for i := range z {
				out[i] = refreshedValue(t.Element, x[i], y[i], z[i])
			}
			return property.Array(out...)
		}
	}
	return configuredValue(t, after)
}
