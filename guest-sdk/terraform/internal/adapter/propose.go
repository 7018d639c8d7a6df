package adapter

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// proposer returns the state that a configuration asks for, by the rules that providers expect of Terraform: the configuration,
// and the prior state, which may be null, for the parts that it leaves to the provider.
type proposer struct {
	// defaults has elements of sets also stem from prior elements with optional attributes that the configuration leaves out:
	// these may have defaults, which schemas do not show. stems are those elements.
	defaults bool
	stems    []tftypes.Value
	// others are elements from which none stems by a default.
	others []tftypes.Value
}

func (p *proposer) propose(s *tf.Attributes, prior, config tftypes.Value) tftypes.Value {
	before, asked := fields(prior), fields(config)
	values := make(map[string]tftypes.Value, len(s.List))
	for _, a := range s.List {
		values[a.Name] = p.attribute(a, before[a.Name], asked[a.Name])
	}
	return tftypes.NewValue(s.Wire(), values)
}

func (p *proposer) attribute(a *tf.Attribute, prior, config tftypes.Value) tftypes.Value {
	switch {
	case a.Block:
		return p.nested(a.Type, prior, config)
	case a.Computed && isNull(config):
		if isNull(prior) || a.Optional && a.Nested && wasConfigured(a.Type, prior) {
			return tftypes.NewValue(a.Type.Wire, nil)
		}
		return prior
	case a.Nested:
		return p.nested(a.Type, prior, config)
	}
	return config
}

// nested proposes a block, or an attribute with a schema of its own. Elements of lists belong
// to those with the same index, of maps to those with the same key, and of sets to those from which
// they may stem.
func (p *proposer) nested(t *tf.Type, prior, config tftypes.Value) tftypes.Value {
	if isNull(config) || isUnknown(config) {
		return config
	}
	switch t.Kind {
	case tf.Object:
		return p.propose(t.Object, prior, config)
	case tf.List:
		before := elements(prior)
		var values []tftypes.Value
		for i, element := range elements(config) {
			values = append(values, p.nested(t.Element, at(before, i), element))
		}
		return tftypes.NewValue(t.Wire, values)
	case tf.Map:
		before, values := fields(prior), map[string]tftypes.Value{}
		for key, element := range fields(config) {
			values[key] = p.nested(t.Element, before[key], element)
		}
		return tftypes.NewValue(t.Wire, values)
	case tf.Set:
		return p.set(t, elements(prior), elements(config), config)
	}
	return config
}

func (p *proposer) set(t *tf.Type, prior, asked []tftypes.Value, config tftypes.Value) tftypes.Value {
	used := make([]bool, len(prior))
	find := func(fits func(prior tftypes.Value) bool) tftypes.Value {
		for i, v := range prior {
			if !used[i] && fits(v) {
				used[i] = true
				return v
			}
		}
		return tftypes.Value{}
	}
	values := make([]tftypes.Value, len(asked))
	var open []int // elements that equal none of the prior state
	for i, element := range asked {
		if values[i] = find(element.Equal); isNull(values[i]) {
			open = append(open, i)
		}
	}
	stems := make(map[int]tftypes.Value, len(open))
	for _, i := range open {
		stems[i] = find(func(v tftypes.Value) bool { return mayStem(t.Element, v, asked[i], false) })
	}
	for _, i := range open {
		if p.defaults && isNull(stems[i]) {
			stems[i] = find(func(v tftypes.Value) bool { return indexOf(p.others, v) < 0 && mayStem(t.Element, v, asked[i], true) })
			if !isNull(stems[i]) {
				p.stems = append(p.stems, stems[i])
			}
		}
		values[i] = p.nested(t.Element, stems[i], asked[i])
	}
	return tftypes.NewValue(config.Type(), values)
}

// mayStem reports whether a configuration that is now config could have made the prior value: they differ only in parts that
// config lacks and that the provider computes or may have defaults for.
func mayStem(t *tf.Type, prior, config tftypes.Value, defaults bool) bool {
	if same(prior, config) {
		return true
	}
	if isNull(prior) || isNull(config) || isUnknown(config) {
		return false
	}
	switch t.Kind {
	case tf.Object:
		before, asked := fields(prior), fields(config)
		for _, a := range t.Object.List {
			v, w := before[a.Name], asked[a.Name]
			stems := same(v, w) || (a.Computed || defaults && a.Optional && !a.Block) && isNull(w)
			if !stems && (a.Nested || a.Block) {
				stems = mayStem(a.Type, v, w, defaults)
			}
			if !stems {
				return false
			}
		}
		return true
	case tf.List:
		before, asked := elements(prior), elements(config)
		for i := range asked {
			if len(before) != len(asked) || !mayStem(t.Element, before[i], asked[i], defaults) {
				return false
			}
		}
		return len(before) == len(asked)
	case tf.Map:
		before, asked := fields(prior), fields(config)
		for key := range asked {
			if !mayStem(t.Element, before[key], asked[key], defaults) {
				return false
			}
		}
		return len(before) == len(asked)
	case tf.Set:
		before, asked := elements(prior), elements(config)
		used := make([]bool, len(before))
		for _, element := range asked {
			found := false
			for i, v := range before {
				if !used[i] && mayStem(t.Element, v, element, defaults) {
					used[i], found = true, true
					break
				}
			}
			if !found {
				return false
			}
		}
		return len(before) == len(asked)
	}
	return false
}

// wasConfigured reports whether a value has a part that the provider cannot have computed. The
// configuration has lost it then.
func wasConfigured(t *tf.Type, v tftypes.Value) bool {
	switch t.Kind {
	case tf.Object:
		parts := fields(v)
		for _, a := range t.Object.List {
			part := parts[a.Name]
			if !isNull(part) && (!a.Nested && !a.Computed || a.Nested && wasConfigured(a.Type, part)) {
				return true
			}
		}
	case tf.List, tf.Set:
		for _, part := range elements(v) {
			if wasConfigured(t.Element, part) {
				return true
			}
		}
	case tf.Map:
		for _, part := range fields(v) {
			if wasConfigured(t.Element, part) {
				return true
			}
		}
	}
	return false
}
