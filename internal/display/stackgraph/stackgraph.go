// Package stackgraph makes graphs of stacks and of deployments, which package graphdraw draws.
package stackgraph

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/graphdraw"
)

// Options select the contents of a graph.
type Options struct {
	Title string
	// Providers adds the default providers. Those that the program names are in it in any case.
	Providers bool
	// Mark returns a word about a resource and its look; nil for none.
	Mark func(*state.Resource) (note string, look graphdraw.Look)
}

// OfState returns the graph of the resources in a state. It leaves out the stack itself, and old copies that are
// to be deleted.
func OfState(s *state.Snapshot, o Options) *graphdraw.Graph {
	b := builder{graph: &graphdraw.Graph{Title: o.Title}, providers: o.Providers}
	var resources []*state.Resource
	for _, r := range s.Resources() {
		if !r.Delete {
			resources = append(resources, r)
		}
	}
	// The order of a state is the order of creation, which differs from run to run.
	slices.SortFunc(resources, func(a, b *state.Resource) int { return strings.Compare(string(a.URN), string(b.URN)) })
	for _, r := range resources {
		var n graphdraw.Node
		if o.Mark != nil {
			n.Note, n.Look = o.Mark(r)
		}
		provider, _, _ := state.CutReference(r.Provider)
		if !b.node(r.URN, r.Type, r.Parent, n) {
			continue
		}
		b.depend(r.URN, engine.DependenciesOf(r), provider)
		r.VisitNeeds(func(m state.Mention) {
			switch m.Role {
			case state.RoleDeletedWith, state.RoleReplaceWith, state.RoleViewOf:
				b.edge(r.URN, m.URN, m.String(), true)
			}
		})
	}
	return b.graph
}

// Recorder makes the graph of a deployment from its events. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	steps map[urn.URN]engine.StepInfo
	title string
}

// Event records an event.
func (r *Recorder) Event(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case engine.Started:
		r.title = e.Project + "/" + e.Stack
	case engine.StepDone:
		if e.Step.URN == "" {
			return
		}
		if r.steps == nil {
			r.steps = make(map[urn.URN]engine.StepInfo)
		}
		if before, ok := r.steps[e.Step.URN]; ok && rank(before.Op) > rank(e.Step.Op) {
			return // the deletion of the old copy says less than the creation of the new one
		}
		r.steps[e.Step.URN] = e.Step
	}
}

// rank orders the operations on one resource by how much they say about what becomes of it.
func rank(op engine.Op) int {
	switch op {
	case engine.OpRefresh, engine.OpSame:
		return 0
	case engine.OpDeleteReplaced, engine.OpRemovePendingReplace:
		return 1
	default:
		return 2
	}
}

// Graph returns the graph of the recorded resources, each with its operation.
func (r *Recorder) Graph(o Options) *graphdraw.Graph {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Title == "" {
		o.Title = r.title
	}
	b := builder{graph: &graphdraw.Graph{Title: o.Title}, providers: o.Providers}
	for _, u := range slices.Sorted(maps.Keys(r.steps)) { // the order of the events differs from run to run
		s := r.steps[u]
		note, look := markOf(s.Op)
		if b.node(u, s.Resource, s.Parent, graphdraw.Node{Note: note, Look: look}) {
			b.depend(u, s.Dependencies, s.Provider)
		}
	}
	return b.graph
}

// markOf says what an operation does to a resource.
func markOf(op engine.Op) (string, graphdraw.Look) {
	switch op {
	case engine.OpCreate:
		return "create", graphdraw.LookAdded
	case engine.OpImport:
		return "import", graphdraw.LookAdded
	case engine.OpUpdate:
		return "update", graphdraw.LookChanged
	case engine.OpCreateReplacement, engine.OpReplace, engine.OpReadReplacement, engine.OpDeleteReplaced:
		return "replace", graphdraw.LookChanged
	case engine.OpDelete, engine.OpDiscard:
		return "delete", graphdraw.LookRemoved
	case engine.OpRead:
		return "read", graphdraw.LookFaint
	}
	return "", graphdraw.LookPlain
}

type builder struct {
	graph     *graphdraw.Graph
	providers bool
}

// node adds a resource, unless it is left out, and reports whether it did.
func (b *builder) node(u urn.URN, typ string, parent urn.URN, n graphdraw.Node) bool {
	if typ == urn.RootType || !b.providers && engine.IsDefaultProvider(u) {
		return false
	}
	n.ID, n.Name, n.Kind, n.Parent, n.Details = string(u), display.Escape(u.Name()), display.Escape(display.ShortType(typ)), string(parent), display.Escape(string(u))
	b.graph.Nodes = append(b.graph.Nodes, n)
	return true
}

// depend adds the edges of a resource. Package graphdraw leaves out those to resources that are not in the graph.
func (b *builder) depend(u urn.URN, dependencies []engine.Dependency, provider urn.URN) {
	for _, d := range dependencies {
		b.edge(u, d.URN, strings.Join(d.Properties, ", "), false)
	}
	if provider != "" && (b.providers || !engine.IsDefaultProvider(provider)) {
		b.edge(u, provider, "provider", true)
	}
}

func (b *builder) edge(from, to urn.URN, label string, dashed bool) {
	b.graph.Edges = append(b.graph.Edges, graphdraw.Edge{From: string(from), To: string(to), Label: display.Escape(label), Dashed: dashed})
}
