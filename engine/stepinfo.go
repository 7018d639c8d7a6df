package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// info describes a step for events.
func (r *runState) info(s *step) StepInfo {
	res := s.subject()
	i := StepInfo{
		Op: s.op, URN: res.URN, Resource: res.Type, Name: res.URN.Name(), Parent: res.Parent,
		ID: providers.ShownID(res.ID), Custom: res.Custom, DefaultProvider: providers.IsDefault(res.URN),
		DeleteBeforeReplace: s.diff.deleteBeforeReplace, Reason: s.diff.reason,
	}
	if s.result != "" {
		i.Op = s.result
	}
	if provider, _, err := providers.SplitReference(res.Provider); err == nil && !providers.IsDefault(provider) {
		i.Provider = provider
	}
	switch i.Op {
	case OpUpdate, OpCreateReplacement:
		if s.old != nil {
			i.Diff = changesOf(s.diff, s.old, res)
		}
	case OpCreate, OpImport:
		i.Inputs = s.inputLines("add")
	case OpDelete:
		i.Inputs = s.inputLines("delete")
	}
	return i
}

// inputLines shows all inputs of a resource that comes or goes.
func (s *step) inputLines(kind string) []PropertyChange {
	inputs := s.subject().Inputs
	if s.lines == nil || !inputs.Is(s.shown) {
		s.lines, s.shown = inputLines(inputs, kind), inputs
	}
	return s.lines
}

func inputLines(inputs property.Map, kind string) []PropertyChange {
	out := slices.Grow([]PropertyChange(nil), inputs.Len())
	for _, k := range inputs.Keys() {
		if strings.HasPrefix(k, "__") {
			continue
		}
		c := PropertyChange{Path: property.Path{property.Key(k)}.String(), Kind: kind}
		if shown := property.Render(inputs.Get(k)); kind == "add" {
			c.New = shown
		} else {
			c.Old = shown
		}
		out = append(out, c)
	}
	return out
}

// changesOf renders a difference for people: sorted, with secrets masked, without hidden properties.
func changesOf(df diff, old, n *state.Resource) []PropertyChange {
	var out []PropertyChange
	for _, p := range df.detailed {
		path, err := property.ParsePath(p.Path)
		if err != nil {
			path = property.Path{property.Key(p.Path)}
		}
		if slices.ContainsFunc(n.HideDiff, func(hidden property.Path) bool { return hidden.Contains(path) }) {
			continue
		}
		before, after := old.Outputs, n.Inputs
		switch {
		case df.ofState:
			before, after = propertiesAt(path, old), propertiesAt(path, n)
		case p.InputDiff:
			before = old.Inputs
		}
		c := PropertyChange{
			Path: p.Path, Kind: diffKinds[p.Kind].name, Replaces: diffKinds[p.Kind].replaces,
			Old: showAt(before, path), New: showAt(after, path),
		}
		switch c.Kind {
		case "add":
			c.Old = ""
		case "delete":
			c.New = ""
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b PropertyChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// propertiesAt returns the properties of a resource that have something at the path.
func propertiesAt(path property.Path, res *state.Resource) property.Map {
	if _, ok := path.Get(property.Object(res.Outputs)); ok {
		return res.Outputs
	}
	return res.Inputs
}

// showAt renders the value at a path, empty if there is none. A part of a secret is as secret as the whole.
func showAt(m property.Map, path property.Path) string {
	v, ok := path.Get(property.Object(m))
	if !ok {
		return ""
	}
	return property.Render(v)
}

// emitStepEnd emits the event of a step that ended, with an error if it failed.
func (r *runState) emitStepEnd(info StepInfo, start time.Time, cost *StepCost, err error) {
	if err != nil {
		r.emit(StepFailed{Step: info, DurationMs: durationMs(start), Error: err.Error(), Cost: cost})
		return
	}
	r.emit(StepDone{Step: info, DurationMs: durationMs(start), Cost: cost})
}
