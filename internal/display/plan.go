package display

import (
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// Plan has the steps that a preview found for the execution after it, and their order. The display of the
// execution uses it to show which steps wait, and for which others. It is safe for concurrent use.
type Plan struct {
	mu        sync.Mutex
	operation string
	steps     []engine.StepInfo
	executing bool
}

// Event records an event of a preview. Those of an execution are left out.
func (p *Plan) Event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case engine.Started:
		if p.executing = !e.DryRun; e.DryRun {
			p.operation, p.steps = e.Operation, nil
		}
	case engine.StepDone:
		if !p.executing && e.Step.URN != "" && (!e.Step.Custom || changesSomething(e.Step)) {
			step := e.Step
			step.Inputs, step.Diff = nil, nil // which may be large
			p.steps = append(p.steps, step)
		}
	}
}

// planned is a resource that a plan changes.
type planned struct {
	step engine.StepInfo
	// needs are the resources whose changes come first.
	needs        []urn.URN
	begun, ended bool
	// open counts the unfinished changes below a component, and below all of them.
	open, below int
}

// progress is how far the execution of a plan is. The zero value stands for no plan.
type progress struct {
	order []*planned
	byURN map[urn.URN]*planned
	// components are the resources that others may be below, whether they change or not.
	components map[urn.URN]engine.StepInfo
	// first is the first of order that may not have begun.
	first int
	// ended and failed count the changes that did. building counts the unfinished changes that are not deletions.
	ended, failed, building int
	// destroys is set if all that is planned is the end of the stack.
	destroys bool
}

// newProgress returns the progress of a plan before its execution, or the zero value for nil.
func newProgress(p *Plan) *progress {
	g := &progress{byURN: make(map[urn.URN]*planned), components: make(map[urn.URN]engine.StepInfo)}
	if p == nil {
		return g
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.destroys = p.operation == "destroy"
	for _, s := range p.steps {
		if !s.Custom {
			g.components[s.URN] = s
		}
		if !changesSomething(s) {
			continue
		}
		if before := g.byURN[s.URN]; before != nil { // the old copy of a replaced resource
			if before.step.Op == engine.OpDeleteReplaced {
				before.step = s
			}
			continue
		}
		one := &planned{step: s}
		g.byURN[s.URN] = one
		g.order = append(g.order, one)
	}
	for _, one := range g.order {
		if !isDeletion(one.step.Op) {
			g.building++
		}
		for _, u := range needsOf(one.step) {
			need := g.byURN[u]
			if need == nil {
				continue
			}
			if isDeletion(one.step.Op) && isDeletion(need.step.Op) {
				need.needs = append(need.needs, one.step.URN)
			} else if !isDeletion(one.step.Op) {
				one.needs = append(one.needs, u)
			}
		}
		g.above(one.step, func(component *planned) { component.open++; component.below++ })
	}
	return g
}

// changesSomething reports whether a step of a plan is one that people see.
func changesSomething(s engine.StepInfo) bool { return !s.DefaultProvider && !quiet(s.Op) }

func isDeletion(op engine.Op) bool { return op == engine.OpDelete || op == engine.OpDiscard }

// needsOf returns the dependencies of a resource.
func needsOf(s engine.StepInfo) []urn.URN {
	var out []urn.URN
	for _, d := range s.Dependencies {
		out = append(out, d.URN)
	}
	if s.Provider != "" {
		out = append(out, s.Provider)
	}
	if s.Custom && isDeletion(s.Op) && s.Parent != "" {
		out = append(out, s.Parent)
	}
	return slices.Compact(out)
}

// above calls f with the changes of the components that a resource is in.
func (g *progress) above(s engine.StepInfo, f func(*planned)) {
	for u, depth := s.Parent, 0; u != "" && depth < 100; depth++ {
		if component := g.byURN[u]; component != nil {
			f(component)
		}
		u = g.components[u].Parent
	}
}

// begin notes that a step began.
func (g *progress) begin(s engine.StepInfo) {
	if !s.Custom && s.URN != "" {
		g.components[s.URN] = s
	}
	if one := g.byURN[s.URN]; one != nil {
		one.begun = true
	}
	for g.first < len(g.order) && g.order[g.first].begun {
		g.first++
	}
}

// end notes that a step ended.
func (g *progress) end(s engine.StepInfo, failed bool) {
	one := g.byURN[s.URN]
	if one == nil || one.ended || s.Op == engine.OpRefresh {
		return
	}
	one.begun, one.ended = true, true
	g.ended++
	if failed {
		g.failed++
	}
	if !isDeletion(one.step.Op) {
		g.building--
	}
	g.above(one.step, func(component *planned) { component.open-- })
}

// awaited returns the steps that a change waits for before it begins.
func (g *progress) awaited(one *planned) (out []engine.StepInfo, others bool) {
	for _, u := range one.needs {
		if need := g.byURN[u]; need != nil && need != one && (!need.ended || need.open > 0) {
			out = append(out, need.step)
		}
	}
	// Unregistered resources are known only when the program ends.
	return out, len(out) == 0 && isDeletion(one.step.Op) && !g.destroys && g.building > 0
}
