package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/display/graphdraw"
	"github.com/husk-dev/husk/internal/display/stackgraph"
	"github.com/husk-dev/husk/internal/workspace"
)

// stackLine is a stack in the overview.
type stackLine struct {
	Name      string
	Selected  bool
	Resources int
	Updated   time.Time
	Latest    *run
	Error     string
}

// overview lists the stacks of the project.
func (s *Server) overview(ctx context.Context, w *workspace.Workspace) (*page, error) {
	stacks, err := w.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	selected, err := w.Stack(s.options.Stack)
	if err != nil {
		return nil, err
	}
	p := s.newPage(w, "", "stacks", "Stacks")
	ctx = state.Together(ctx)
	var parts []part
	for _, name := range stacks {
		parts = append(parts, s.render("stack-"+name, "li", "card", s.stackLine(ctx, w, name, selected).write))
	}
	note := s.render("note", "div", "", writeOverview(len(stacks), w.Place, selected, s.MayDeploy()))
	p.add(section{ID: "about", Parts: []part{note}})
	p.add(section{ID: "stacks", Tag: "ul", Label: "Stacks", Parts: parts})
	return p, nil
}

func (s *Server) stackLine(ctx context.Context, w *workspace.Workspace, name, selected string) *stackLine {
	line := &stackLine{Name: name, Selected: name == selected}
	snapshot, _, err := w.Read(ctx, name, true)
	if err != nil {
		line.Error = err.Error()
	} else {
		line.Resources, line.Updated = workspace.CountResources(snapshot), snapshot.Manifest.Time
	}
	if runs := s.list(w, name); len(runs) > 0 {
		line.Latest = &runs[0]
	}
	return line
}

// shownChildren bounds the children of one resource in a tree, as in husk stack.
const shownChildren = 500

// treeLine is a line of the tree of resources.
type treeLine struct {
	stackgraph.Branch
	Subject, Marks string
}

// resources shows the resources of a stack by their parents, and its outputs.
func (s *Server) resources(ctx context.Context, w *workspace.Workspace, stack string) (*page, error) {
	p := s.newPage(w, stack, "resources", "Resources of "+stack)
	snapshot, _, err := w.Read(ctx, stack, true)
	if missing := (*workspace.NoStackError)(nil); errors.As(err, &missing) && stack == workspace.DefaultStack {
		snapshot, err = state.NewSnapshot(), nil // the first update makes it
	}
	if err != nil {
		return nil, err
	}
	var lines []treeLine
	for _, b := range stackgraph.Tree(snapshot, shownChildren) {
		line := treeLine{Branch: b}
		if b.Resource != nil {
			line.Subject, line.Marks = b.Subject()
		}
		lines = append(lines, line)
	}
	pending := 0
	for range snapshot.Operations() {
		pending++
	}
	var latest *run
	if runs := s.list(w, stack); len(runs) > 0 {
		latest = &runs[0]
	}
	head := &about{
		Stack: stack, Count: workspace.CountResources(snapshot), Updated: snapshot.Manifest.Time,
		Pending: pending, Latest: latest, MayDeploy: s.MayDeploy(),
	}
	p.add(section{ID: "about", Parts: []part{s.render("about-stack", "div", "", head.write)}})
	p.add(section{ID: "tree", Tag: "section", Label: "Resources", Wide: true, Parts: []part{
		s.render("tree-lines", "div", "", writeTree(stack, lines)),
	}})
	p.add(section{ID: "outputs", Parts: []part{
		s.render("outputs-list", "div", "", writeValues("Outputs", valuesOf(engine.DisplayOutputs(workspace.Outputs(snapshot))))),
	}})
	return p, nil
}

// shownValue is a property with its value as text.
type shownValue struct{ Name, Text string }

// valuesOf returns properties as texts, sorted. Values other than texts are JSON.
func valuesOf(values map[string]any) []shownValue {
	var out []shownValue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[name].(string)
		if !ok {
			var b bytes.Buffer
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(values[name]); err != nil {
				b.WriteString(err.Error())
			}
			text = strings.TrimSpace(b.String())
		}
		out = append(out, shownValue{name, text})
	}
	return out
}

// resource shows one resource of a state.
func (s *Server) resource(ctx context.Context, w *workspace.Workspace, stack, name string) (*page, error) {
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return nil, err
	}
	r, err := edit.Find(snapshot, urn.URN(name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotFound, err)
	}
	provider, _, _ := state.CutReference(r.Provider)
	p := s.newPage(w, stack, "resources", r.URN.Name())
	known := &facts{
		Stack: stack, R: r, Provider: provider, Module: engine.ModuleOf(r), Marks: strings.Join(stackgraph.Marks(r), ", "),
		Dependents: dependents(snapshot, r),
	}
	p.add(section{ID: "resource", Parts: []part{s.render("resource-facts", "div", "", known.write)}})
	for _, values := range []struct {
		id, title string
		values    map[string]any
	}{{"inputs", "Inputs", engine.DisplayOutputs(r.Inputs)}, {"results", "Outputs", engine.DisplayOutputs(r.Outputs)}} {
		p.add(section{ID: values.id, Parts: []part{
			s.render(values.id+"-list", "div", "", writeValues(values.title, valuesOf(values.values))),
		}})
	}
	return p, nil
}

func dependents(s *state.Snapshot, r *state.Resource) []urn.URN {
	g := s.Graph()
	var out []urn.URN
	if serial, ok := g.Find(r.URN); ok {
		for _, d := range g.Dependents(serial) {
			dependent, _ := s.Resource(d)
			out = append(out, dependent.URN)
		}
	}
	return out
}

// maxDrawn bounds the resources of a graph that is drawn: one with more is slow, and nobody reads it.
const maxDrawn = 400

// graph draws the resources of a stack and their dependencies.
func (s *Server) graph(ctx context.Context, w *workspace.Workspace, stack string) (*page, error) {
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return nil, err
	}
	g := stackgraph.OfState(snapshot, stackgraph.Options{Title: w.Project.Name + "/" + stack, Mark: stackgraph.Mark})
	drawing, err := drawingOf(g)
	if err != nil {
		return nil, err
	}
	p := s.newPage(w, stack, "graph", "Graph of "+stack)
	p.add(section{ID: "graph", Tag: "section", Label: "Graph of the resources", Wide: true, Parts: []part{
		s.render("drawing", "div", "drawing", writeGraph(stack, len(g.Nodes), drawing)),
	}})
	return p, nil
}

// drawingOf returns the SVG of a graph, empty if it has too much or nothing.
func drawingOf(g *graphdraw.Graph) (raw, error) {
	if len(g.Nodes) == 0 || len(g.Nodes) > maxDrawn {
		return "", nil
	}
	var b bytes.Buffer
	err := g.WriteSVG(&b, graphdraw.SVGOptions{Embedded: true})
	// At its own size, in a part that scrolls: a wide graph on a small screen could not be read.
	text := viewBox.ReplaceAllString(b.String(), `$0 width="$1" height="$2"`)
	return raw(text), err
}

// viewBox matches the viewBox of the first element of an SVG.
var viewBox = regexp.MustCompile(`^<svg[^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)

// run is a deployment in a list.
type run struct {
	runlog.Record
	// Update is the line of the history if there is no record.
	Update *workspace.Update
	// Of is the directory of the record.
	of string
	// Waits reports that the run waits for an answer of this console's user.
	Waits bool
}

// State says in words how a run goes or went.
func (r *run) State() string {
	switch {
	case r.Update != nil:
		return r.Update.Result
	case r.Waits:
		return "waiting for confirmation"
	case r.End != nil:
		return string(r.End.Result)
	case r.Running:
		return "running"
	}
	return "cut off"
}

// When is the start of the run.
func (r *run) When() time.Time {
	if r.Update != nil {
		return r.Update.Start
	}
	return r.Start
}

// Did counts the steps taken.
func (r *run) Did() string {
	c := r.changes()
	if c == nil {
		return ""
	}
	var parts []string
	for _, n := range []struct {
		count int
		what  string
	}{{c.Create, "create"}, {c.Update, "update"}, {c.Replace, "replace"}, {c.Delete, "delete"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no changes")
}

func (r *run) changes() *engine.Changes {
	switch {
	case r.Update != nil:
		return r.Update.Changes
	case r.End != nil:
		return &r.End.Changes
	}
	return nil
}
