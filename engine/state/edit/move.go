package edit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"encoding/json"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/state"
)

// Moved is the result of a move between two stacks.
type Moved struct {
	Source, Target *state.Snapshot
	// Resources moved, and Providers came along. Both have their new names.
	Resources, Providers []urn.URN
	// Broken are the references between moved and remaining resources. They were cut.
	Broken []Broken
}

// Broken is a reference that a move has cut.
type Broken struct {
	// From named To. Each has the name by which its stack knows it now.
	From, To urn.URN
}

// Move moves resources, with all below them, to another stack. Providers are copied, because others
// may use them. A resource whose parent stays gets the stack as parent.
func Move(source, target *state.Snapshot, from, to state.StackName, urns []urn.URN) (*Moved, error) {
	if from == to {
		return nil, errors.New("the resources are in that stack already")
	}
	m := &move{source: source, target: target.Clone(), from: from, to: to, graph: source.Graph()}
	if err := m.choose(urns); err != nil {
		return nil, err
	}
	if err := m.bringProviders(); err != nil {
		return nil, err
	}
	if err := m.name(); err != nil {
		return nil, err
	}
	if err := m.put(); err != nil {
		return nil, err
	}
	if err := m.bringExtensions(); err != nil {
		return nil, err
	}
	rest, err := m.leave()
	if err != nil {
		return nil, err
	}
	m.moved.Source, m.moved.Target = rest, m.target
	return &m.moved, nil
}

type move struct {
	source, target *state.Snapshot
	from, to       state.StackName
	graph          *state.Graph

	// going are the resources that move, providers the ones that come along, and pending the operations on moving resources or
	// their children.
	going, providers map[state.Serial]*state.Resource
	pending          map[state.OpID]state.PendingOperation
	// names and references are the new ones of the moving resources and their providers.
	names      map[urn.URN]urn.URN
	references map[string]string
	// parting takes parts out of components that stay; nil if there are none.
	parting *graph.Parting
	moved   Moved
}

// choose finds what moves: the resources, all below them, and old copies of either.
func (m *move) choose(urns []urn.URN) error {
	serials, err := find(m.source, m.graph, urns)
	if err != nil {
		return err
	}
	chosen := make(map[urn.URN]bool)
	for _, serial := range serials {
		r, _ := m.source.Resource(serial)
		switch {
		case r.Type == urn.RootType:
			return refused(r.URN, "is the stack itself, which cannot be moved")
		case r.IsProvider():
			return refused(r.URN, "is a provider: name the resources, and their providers come along")
		}
		chosen[r.URN] = true
	}
	for grown := true; grown; {
		grown = false
		for _, r := range m.source.Resources() {
			if !chosen[r.URN] && chosen[r.Parent] && !r.IsProvider() {
				chosen[r.URN], grown = true, true
			}
		}
	}
	m.going = make(map[state.Serial]*state.Resource)
	for serial, r := range m.source.Resources() {
		if chosen[r.URN] {
			m.going[serial] = r
		}
	}
	var all []*state.Resource
	for _, r := range m.source.Resources() {
		all = append(all, r)
	}
	var moves []graph.Move
	for _, r := range ordered(m.going) {
		after := *r
		if after.Parent = ""; !chosen[r.Parent] {
			moves = append(moves, graph.Move{Before: r, After: &after})
		}
	}
	m.parting = graph.NewParting(all, moves)
	m.pending = make(map[state.OpID]state.PendingOperation)
	for op, pending := range m.source.Operations() {
		if r := pending.Resource; chosen[r.URN] || chosen[r.Parent] && !r.IsProvider() {
			m.pending[op] = pending
		}
	}
	return nil
}

// bringProviders finds the providers of the moving resources. One of that name in the other stack is used if it is configured in
// the same way.
func (m *move) bringProviders() error {
	m.providers = make(map[state.Serial]*state.Resource)
	m.references = make(map[string]string)
	m.names = make(map[urn.URN]urn.URN)
	there := make(map[urn.URN]*state.Resource)
	for _, r := range m.target.Resources() {
		if !r.Delete {
			there[r.URN] = r
		}
	}
	rename := stackRenaming(m.from, m.to)
	for _, r := range m.resources() {
		if r.Provider == "" || m.references[r.Provider] != "" {
			continue
		}
		serial, ok := m.graph.Provider(r.Provider)
		if !ok { // of a resource that waits to be made again
			u, id, _ := state.CutReference(r.Provider)
			m.references[r.Provider] = string(rename(u)) + "::" + id
			continue
		}
		provider, _ := m.source.Resource(serial)
		name := rename(urn.New(m.from.Name, m.from.Project, "", provider.Type, provider.URN.Name()))
		m.names[provider.URN] = name
		other := there[name]
		switch {
		case other == nil:
			m.providers[serial] = provider
			m.references[r.Provider] = string(name) + "::" + provider.ID
		case property.Object(other.Inputs).EqualContents(property.Object(provider.Inputs)):
			m.references[r.Provider] = other.Reference()
		default:
			return refused(name, fmt.Sprintf(
				"is configured otherwise than %s, which %s uses: make the two alike with an update of either stack first", provider.URN, r.URN))
		}
	}
	return nil
}

func ordered[K cmp.Ordered, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// resources returns the moving resources, and the resources of the moving operations.
func (m *move) resources() []*state.Resource {
	out := ordered(m.going)
	for _, pending := range ordered(m.pending) {
		out = append(out, pending.Resource)
	}
	return out
}

// name names what moves, parents first. Those that form a cycle, which no sound state has, lose it.
func (m *move) name() error {
	parents := make(map[urn.URN]urn.URN, len(m.going))
	for _, r := range slices.Backward(m.resources()) { // existing resources count, not the results of operations
		parents[r.URN] = r.Parent
	}
	open := make(map[urn.URN]bool)
	var nameOf func(u urn.URN) urn.URN
	nameOf = func(u urn.URN) urn.URN {
		parent, going := parents[u]
		if going && !open[u] {
			open[u] = true
			m.names[u] = urn.New(m.to.Name, m.to.Project, nameOf(parent), u.Type(), u.Name())
		}
		if !going {
			return "" // it stays behind, or is a provider, which is nobody's parent
		}
		return m.names[u]
	}
	named := make(map[urn.URN]urn.URN)
	for _, r := range ordered(m.going) {
		name := nameOf(r.URN)
		if other := named[name]; other != "" && other != r.URN {
			return refused(r.URN, fmt.Sprintf("would have the same name as %s without the parents of the two: %s", other, name))
		}
		named[name] = r.URN
	}
	for _, pending := range m.pending {
		nameOf(pending.Resource.URN)
	}
	return nil
}

func (m *move) put() error {
	taken := make(map[urn.URN]bool)
	var root urn.URN
	for _, r := range m.target.Resources() {
		taken[r.URN] = true
		if r.Type == urn.RootType && !r.Delete {
			root = r.URN
		}
	}
	if root == "" {
		root = urn.New(m.to.Name, m.to.Project, "", urn.RootType, rootName(m.to))
		m.target.Add(&state.Resource{URN: root, Type: urn.RootType})
	}
	for _, r := range append(ordered(m.providers), ordered(m.going)...) {
		name := m.names[r.URN]
		if taken[name] {
			return conflict(name)
		}
		moved := m.renamed(r, root)
		if r.IsProvider() {
			m.moved.Providers = append(m.moved.Providers, name)
		} else {
			m.moved.Resources = append(m.moved.Resources, name)
		}
		m.target.Add(moved)
	}
	for _, pending := range ordered(m.pending) {
		pending.Resource = m.renamed(pending.Resource, root)
		m.target.AddOperation(pending)
	}
	return nil
}

// renamed returns a moving resource as the other stack has it.
func (m *move) renamed(r *state.Resource, root urn.URN) *state.Resource {
	moved := *renaming{urn: func(u urn.URN) urn.URN {
		if named, ok := m.names[u]; ok {
			return named
		}
		return u
	}}.resource(m.cut(m.keepingUses(r), m.names[r.URN], func(u urn.URN) bool { return m.names[u] != "" }))
	moved.Provider = m.references[r.Provider]
	if moved.Parent == "" && r.Parent != "" {
		moved.Parent = root
	}
	return &moved
}

func (m *move) bringExtensions() error {
	here, err := state.DecodeExtensions(m.source.Extensions)
	if err != nil {
		return err
	}
	there, err := state.DecodeExtensions(m.target.Extensions)
	if err != nil {
		return err
	}
	for _, r := range m.resources() {
		extension, ok := here[r.ExtensionRef]
		if _, known := there[r.ExtensionRef]; !ok || known {
			continue
		}
		if there == nil {
			there = make(map[string]json.RawMessage)
		}
		there[r.ExtensionRef] = extension
	}
	m.target.Extensions, err = state.EncodeExtensions(there)
	return err
}

func (m *move) leave() (*state.Snapshot, error) {
	gone := make(map[urn.URN]bool, len(m.going))
	var changes state.Entry
	for op := range m.pending {
		changes = append(changes, state.EndOperation{Op: op})
	}
	for serial, r := range m.going {
		gone[r.URN] = true
		changes = append(changes, state.RemoveResource{Serial: serial})
	}
	for serial, r := range m.source.Resources() {
		if m.going[serial] != nil {
			continue
		}
		stays := func(u urn.URN) bool { return !gone[u] }
		if left := m.cut(m.keepingUses(r), r.URN, stays); left != r {
			changes = append(changes, state.PutResource{Serial: serial, Resource: left})
		}
	}
	return apply(m.source, changes)
}

// keepingUses returns a resource that names the moving parts that it uses through a component that stays.
func (m *move) keepingUses(r *state.Resource) *state.Resource {
	if m.parting == nil {
		return r
	}
	return m.parting.Keep(r)
}

// cut returns r, known as name, without its references to resources that did not come along.
func (m *move) cut(r *state.Resource, name urn.URN, with func(urn.URN) bool) *state.Resource {
	return prune(r, func(mention state.Mention) bool { return with(mention.URN) }, func(mention state.Mention) {
		u := mention.URN
		if u.Type() == urn.RootType {
			return // each stack has its own
		}
		if named := m.names[u]; named != "" {
			u = named
		}
		if b := (Broken{From: name, To: u}); !slices.Contains(m.moved.Broken, b) {
			m.moved.Broken = append(m.moved.Broken, b)
		}
	})
}
