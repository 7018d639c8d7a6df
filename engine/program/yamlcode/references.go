package yamlcode

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Shorter texts are equal by accident.
const (
	// leastOutput is the least length, in bytes, of a text that a provider has made.
	leastOutput = 4
	// leastInput is the least length of a text that the program may have given to both.
	leastInput = 8
)

// referable finds the properties that inputs of a resource may have come from: the properties of its dependencies.
type referable struct {
	w    *writer
	from []Resource
	// used are the dependencies that a reference was found to.
	used map[urn.URN]bool
}

func (w *writer) referable(r Resource) *referable {
	out := &referable{w: w, used: make(map[urn.URN]bool)}
	for _, on := range r.Dependencies {
		if other, ok := w.written[on]; ok && on != r.URN && on != r.Parent {
			out.from = append(out.from, other)
		}
	}
	return out
}

// source is a property with a text. It is given if the program has given it.
type source struct {
	name  string
	given bool
}

// sources returns the properties of a resource by their texts.
func (w *writer) sources(r Resource) map[string][]source {
	if known, ok := w.texts[r.URN]; ok {
		return known
	}
	out := make(map[string][]source)
	if len(r.ID) >= leastOutput && !r.Outputs.Has("id") {
		out[r.ID] = append(out[r.ID], source{"id", false})
	}
	for name, v := range r.Outputs.All() {
		given, least := r.Inputs.Has(name), leastOutput
		if given {
			least = leastInput
		}
		if s, ok := v.Plain().AsString(); ok && len(s) >= least && !strings.HasPrefix(name, "__") {
			out[s] = append(out[s], source{name, given})
		}
	}
	w.texts[r.URN] = out
	return out
}

// find returns the reference that stands for a text of the input called key, nil if there is none or more than one
// that is as likely.
func (r *referable) find(key, s string) *yaml.Node {
	var best source
	var of Resource
	least, alone := unlikely, false
	for _, from := range r.from {
		for _, found := range r.w.sources(from)[s] {
			switch rank := found.rank(key); {
			case rank < least:
				best, of, least, alone = found, from, rank, true
			case rank == least:
				alone = false
			}
		}
	}
	if !alone {
		return nil
	}
	r.used[of.URN] = true
	return text("${" + property.Path{property.Key(of.Name), property.Key(best.name)}.String() + "}")
}

// unlikely is more than every rank.
const unlikely = 4

// rank says how likely the input called key has come from the property. The least is the likeliest.
func (s source) rank(key string) int {
	switch {
	case key == s.name:
		return 0
	case s.given:
		return 3
	case s.name == "id":
		return 1
	}
	return 2
}

// unused returns the dependencies that nothing else leads to: neither a reference nor another dependency.
func (r *referable) unused() (out []urn.URN) {
	led, groups := make(map[urn.URN]bool), make(map[string]bool)
	for _, from := range r.from {
		for _, on := range from.Dependencies {
			led[on] = led[on] || on != from.URN
		}
		if r.used[from.URN] && from.Group != "" {
			groups[from.Group] = true
		}
	}
	for _, on := range r.from {
		if !r.used[on.URN] && !led[on.URN] && !groups[on.Group] {
			out = append(out, on.URN)
		}
	}
	return out
}
