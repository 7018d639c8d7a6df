// Package edit changes states by hand: it removes, renames, and moves resources, and repairs
// states. It calls no provider, so nothing real changes.
//
// Every edit leaves its snapshot as it is and returns another, which holds together if the first
// did. [github.com/husk-dev/husk/engine/state.Stack.Replace] saves it.
package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

func refused(u urn.URN, reason string) error { return fmt.Errorf("%s %s", u, reason) }

func conflict(u urn.URN) error { return fmt.Errorf("there is a resource %s already", u) }

func are(urns []urn.URN) string {
	if len(urns) == 1 {
		return "is"
	}
	return "are"
}

func list(urns []urn.URN) string {
	texts := make([]string, len(urns))
	for i, u := range urns {
		texts[i] = string(u)
	}
	return strings.Join(texts, ", ")
}

// Find returns the resource of a URN.
func Find(s *state.Snapshot, u urn.URN) (*state.Resource, error) {
	serials, err := find(s, s.Graph(), []urn.URN{u})
	if err != nil {
		return nil, err
	}
	r, _ := s.Resource(serials[0])
	return r, nil
}

func find(s *state.Snapshot, g *state.Graph, urns []urn.URN) ([]state.Serial, error) {
	var out []state.Serial
	for _, u := range urns {
		serial, ok := g.Find(u)
		if !ok {
			return nil, notFound(s, u)
		}
		if !slices.Contains(out, serial) {
			out = append(out, serial)
		}
	}
	return out, nil
}

// notFound returns the error of a URN that the state lacks. It names resources that have the name.
func notFound(s *state.Snapshot, u urn.URN) error {
	name := u.Name()
	if name == "" {
		parts := strings.Split(string(u), "::") // a bare name, or TYPE::NAME
		name = parts[len(parts)-1]
	}
	var likely []urn.URN
	for _, r := range s.Resources() {
		if r.URN.Name() == name {
			likely = append(likely, r.URN)
		}
	}
	if len(likely) == 0 {
		return fmt.Errorf("there is no resource %s: husk state ls lists all", u)
	}
	slices.Sort(likely)
	return fmt.Errorf("there is no resource %s; did you mean %s?", u, list(slices.Compact(likely)))
}

func urnsOf(s *state.Snapshot, serials []state.Serial) []urn.URN {
	out := make([]urn.URN, len(serials))
	for i, serial := range serials {
		r, _ := s.Resource(serial)
		out[i] = r.URN
	}
	return out
}

func apply(s *state.Snapshot, changes state.Entry) (*state.Snapshot, error) {
	out := s.Clone()
	if err := out.Apply(changes); err != nil {
		return nil, err
	}
	return out, nil
}

// change replaces each of the resources by do's result for a copy of it.
func change(s *state.Snapshot, urns []urn.URN, do func(*state.Resource) error) (*state.Snapshot, error) {
	serials, err := find(s, s.Graph(), urns)
	if err != nil {
		return nil, err
	}
	var changes state.Entry
	for _, serial := range serials {
		r, _ := s.Resource(serial)
		changed := *r
		if err := do(&changed); err != nil {
			return nil, err
		}
		changes = append(changes, state.PutResource{Serial: serial, Resource: &changed})
	}
	return apply(s, changes)
}

// Change replaces a resource by do's result for it.
func Change(s *state.Snapshot, u urn.URN, do func(*state.Resource) (*state.Resource, error)) (*state.Snapshot, error) {
	return change(s, []urn.URN{u}, func(r *state.Resource) error {
		changed, err := do(r)
		if err == nil {
			*r = *changed
		}
		return err
	})
}

// Protect protects resources from being deleted, or ends that.
func Protect(s *state.Snapshot, urns []urn.URN, protect bool) (*state.Snapshot, error) {
	return change(s, urns, func(r *state.Resource) error { r.Protect = protect; return nil })
}

// Taint has the next update replace resources, or ends that.
func Taint(s *state.Snapshot, urns []urn.URN, taint bool) (*state.Snapshot, error) {
	return change(s, urns, func(r *state.Resource) error {
		if taint && !r.Custom {
			return refused(r.URN, "is a component: there is nothing of it to replace")
		}
		r.Taint = taint
		return nil
	})
}

// DeleteOptions say what may be deleted beyond single resources that nothing protects.
type DeleteOptions struct {
	// Protected deletes protected resources, too.
	Protected bool
	// Dependents deletes all that depends on the resources, too.
	Dependents bool
}

// Delete forgets resources, which go on to exist.
func Delete(s *state.Snapshot, urns []urn.URN, o DeleteOptions) (*state.Snapshot, error) {
	g := s.Graph()
	serials, err := find(s, g, urns)
	if err != nil {
		return nil, err
	}
	if dependents := g.Dependents(serials...); len(dependents) > 0 {
		if !o.Dependents {
			urns := urnsOf(s, serials)
			return nil, fmt.Errorf("%s %s needed by %s: forget those as well with --target-dependents", list(urns), are(urns), list(urnsOf(s, dependents)))
		}
		serials = append(serials, dependents...)
	}
	var changes state.Entry
	var protected []urn.URN
	for _, serial := range serials {
		if r, _ := s.Resource(serial); r.Protect {
			protected = append(protected, r.URN)
		}
		changes = append(changes, state.RemoveResource{Serial: serial})
	}
	if len(protected) > 0 && !o.Protected {
		return nil, fmt.Errorf("%s %s protected: unprotect first, or forget all the same with --force", list(protected), are(protected))
	}
	return apply(s, changes)
}
