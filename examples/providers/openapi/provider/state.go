package provider

import "github.com/husk-dev/husk/abi/property"

// open takes a resource out of its envelope.
func (r *resource) open(body property.Value) property.Value {
	if m, ok := body.AsObject(); ok && r.envelope != "" {
		if inner, ok := m.Lookup(r.envelope); ok {
			return inner
		}
	}
	return body
}

// state returns the state in a response, with the known values of the path and parameters.
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

// overlay returns a state with the inputs of an update that has happened.
func (r *resource) overlay(state, inputs property.Map) property.Map {
	for name, v := range inputs.All() {
		if r.updated[name] && r.described.Outputs.Property(name) != nil {
			state = state.With(name, v)
		}
	}
	return state
}

// inputsFor returns the inputs for a state: those given, or in an import all but defaults.
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
