package provider

import "github.com/husk-dev/husk/abi/property"

// open takes a resource out of its envelope, with the properties beside it.
func (r *resource) open(body property.Value) property.Value {
	m, ok := body.AsObject()
	if !ok || r.envelope == "" || !m.Has(r.envelope) {
		return body
	}
	inner, ok := m.Get(r.envelope).AsObject()
	if !ok {
		return m.Get(r.envelope)
	}
	for _, name := range r.beside {
		if v, ok := m.Lookup(name); ok {
			inner = inner.With(name, v)
		}
	}
	return property.Object(inner)
}

// state returns the state in a response, with the known values of the path and parameters.
func (r *resource) state(body property.Value, known property.Map) property.Map {
	answered, _ := r.open(body).AsObject()
	var entries []property.Entry
	for i := range r.described.Outputs.Properties {
		p := &r.described.Outputs.Properties[i]
		v := answered.Get(r.field(p.Name))
		if source, ok := r.sources[p.Name]; ok {
			v = source.in(property.Object(answered))
		}
		if v.IsNull() && p.Stable {
			v = known.Get(p.Name)
		}
		if !v.Plain().IsNull() {
			entries = append(entries, property.Entry{Key: p.Name, Value: fitProperty(p, v)})
		}
	}
	return property.NewMap(entries...)
}

// overlay returns a state with the inputs of an update that has happened.
func (r *resource) overlay(state, inputs property.Map) property.Map {
	for name, v := range inputs.All() {
		if r.updated[name] && r.described.Outputs.Property(name) != nil {
			state = state.With(name, v)
		}
	}
	return state
}

// inputsFor returns the inputs for a state: the given ones, with changes since the last state. A service may write an input in
// another way than it was given, which is not a change.
func (r *resource) inputsFor(state, last, given property.Map) property.Map {
	inputs := given
	for i := range r.described.Inputs.Properties {
		p := &r.described.Inputs.Properties[i]
		old, now := given.Get(p.Name), state.Get(p.Name)
		switch {
		case r.described.Outputs.Property(p.Name) == nil || old.Plain().IsNull():
		case now.Plain().IsNull():
			if !last.Get(p.Name).Plain().IsNull() {
				inputs = inputs.Without(p.Name)
			}
		default:
			inputs = inputs.With(p.Name, drifted(old, fitProperty(p, last.Get(p.Name)), fitProperty(p, now)))
		}
	}
	return inputs
}

// drifted returns the given parts of a value, with the ones that differ from the last ones.
func drifted(given, last, now property.Value) property.Value {
	if inner, ok := given.AsSecret(); ok {
		return property.Secret(drifted(inner, last.Plain(), now.Plain()))
	}
	if m, ok := given.AsObject(); ok {
		actual, isObject := now.Plain().AsObject()
		before, wasObject := last.Plain().AsObject()
		if isObject && wasObject {
			parts := property.Map{}
			for name, part := range m.All() {
				v, ok := actual.Lookup(name)
				switch {
				case ok:
					parts = parts.With(name, drifted(part, before.Get(name), v))
				case !before.Has(name):
					parts = parts.With(name, part) // answers never had it
				}
			}
			return property.Object(parts)
		}
	}
	if now.EqualContents(last) || project(given, now).EqualContents(project(given, last)) {
		return given
	}
	return project(given, now)
}

// importedInputs returns the inputs for the state of a resource that is imported: all but defaults.
func (r *resource) importedInputs(state property.Map) (inputs property.Map) {
	for i := range r.described.Inputs.Properties {
		p := &r.described.Inputs.Properties[i]
		now := state.Get(p.Name)
		if !now.Plain().IsNull() && !(p.HasDefault() && now.Plain().Equal(p.Default)) {
			inputs = inputs.With(p.Name, fitProperty(p, now))
		}
	}
	return inputs
}

// project returns the given parts of a value, without the service's choices. Secrets stay.
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
