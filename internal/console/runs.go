package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/display/timeline"
	"github.com/husk-dev/husk/internal/workspace"
)

// dirs returns the directories of the records of a stack.
func (s *Server) dirs(w *workspace.Workspace, stack string) []string {
	dirs := []string{w.RunsDir(stack)}
	if s.previews != "" {
		dirs = append(dirs, s.previewsOf(w, stack))
	}
	return dirs
}

func (s *Server) previewsOf(w *workspace.Workspace, stack string) string {
	return filepath.Join(s.previews, w.Project.Name, stack)
}

// list returns the recorded runs of a stack, the newest first.
func (s *Server) list(w *workspace.Workspace, stack string) []run {
	var out []run
	for _, dir := range s.dirs(w, stack) {
		records, err := runlog.List(dir)
		if err != nil {
			continue // as if there were none: the history is elsewhere
		}
		for _, r := range records {
			out = append(out, run{Record: r, of: dir, Waits: r.End == nil && s.deploys.waits(r.ID)})
		}
	}
	slices.SortStableFunc(out, func(a, b run) int { return b.Start.Compare(a.Start) })
	return out
}

// find returns a recorded run.
func (s *Server) find(w *workspace.Workspace, stack, id string) (*run, error) {
	var failed error
	for _, dir := range s.dirs(w, stack) {
		r, err := runlog.Describe(dir, id)
		if err == nil {
			return &run{Record: *r, of: dir, Waits: r.End == nil && s.deploys.waits(id)}, nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, fmt.Errorf("%w (%w)", runlog.ErrNoRecord, failed)
}

// fingerprint changes whenever a page about the project can.
func (s *Server) fingerprint(ctx context.Context, at *url.URL) string {
	w, err := s.options.Workspace(ctx)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if at.Path == "/server" || strings.HasPrefix(at.Path, "/server/") {
		const every = 2 // seconds
		return fmt.Sprint(time.Now().Unix() / every)
	}
	dirs := w.StateDirs()
	stacks, err := os.ReadDir(filepath.Dir(w.RunsDir("x")))
	if err == nil {
		for _, e := range stacks {
			dirs = append(dirs, s.dirs(w, e.Name())...)
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue
			}
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
			if strings.HasPrefix(dir, filepath.Dir(w.RunsDir("x"))) && time.Since(info.ModTime()) < time.Minute {
				fmt.Fprintln(&b, time.Now().Unix()) // durations grow, and a run without a sign of life is cut off
			}
		}
	}
	fmt.Fprintln(&b, s.deploys.fingerprint())
	return b.String()
}

// runs lists the runs of a stack: those with a record, and older ones of the history.
func (s *Server) runs(ctx context.Context, w *workspace.Workspace, stack string) (*page, error) {
	_ = w.FetchRuns(ctx, stack) // without the backend, this machine's runs are shown
	all := s.list(w, stack)
	updates, damaged, err := w.History(ctx, stack)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	for i := range updates {
		u := &updates[i]
		recorded := slices.ContainsFunc(all, func(r run) bool {
			return r.Update == nil && r.Kind == u.Kind && !u.Start.Before(r.Start) && (r.End == nil || !u.Start.After(r.Start.Add(r.Took+time.Second)))
		})
		if !recorded {
			all = append(all, run{Update: u})
		}
	}
	slices.SortStableFunc(all, func(a, b run) int { return b.When().Compare(a.When()) })
	p := s.newPage(w, stack, "runs", "Runs of "+stack)
	p.add(section{ID: "runs", Tag: "section", Label: "Runs", Wide: true, Parts: []part{
		s.render("runs-list", "div", "", writeRuns(stack, all, damaged, s.MayDeploy())),
	}})
	return p, nil
}

// maxRows bounds the steps of a page.
const maxRows = 2000

// run shows one run, also while it goes on.
func (s *Server) run(w *workspace.Workspace, stack, id string) (*page, error) {
	r, err := s.find(w, stack, id)
	if err != nil {
		return nil, err
	}
	v, err := s.views.get(r.of, &r.Record)
	if err != nil {
		return nil, err
	}
	defer v.mu.Unlock()
	p := s.newPage(w, stack, "runs", r.Kind+" of "+stack)
	took := r.Took
	if r.Running {
		took = time.Since(r.Start).Truncate(time.Second)
	}
	head := &status{
		Run: r, Stack: stack, Took: took, Mine: s.deploys.has(id), Left: v.left, Deletions: deletions(v.phases), Packs: v.packs,
	}
	p.add(section{ID: "status", Parts: []part{s.render("run-status", "div", "panel", head.write)}})
	for n := max(2, len(v.phases)) - 1; n >= 0; n-- { // executions are above their plans
		if n < len(v.phases) {
			p.add(s.steps(stack, n, v.phases[n], r))
		} else {
			p.add(section{ID: fmt.Sprintf("steps-%d", n), Tag: "section"}) // for later phases
		}
	}
	p.add(section{ID: "messages", Tag: "section", Label: "Messages", Parts: []part{s.render("messages-list", "div", "", writeMessages(v.messages))}})
	if chart := s.chart(v, r); chart != nil {
		p.add(section{ID: "chart", Tag: "section", Label: "Timeline", Wide: true, Parts: []part{*chart}})
	} else {
		p.add(section{ID: "chart", Tag: "section", Label: "Timeline", Wide: true})
	}
	p.add(section{ID: "outputs", Parts: []part{s.render("outputs-list", "div", "", writeOutputs(v.outputs))}})
	p.add(s.usage(v.instances, v.costs, v.uses))
	return p, nil
}

// deletions are the resources that a plan deletes or replaces, which its reader must see before the answer.
func deletions(phases []*phase) []*row {
	var out []*row
	if len(phases) != 1 {
		return nil
	}
	for _, r := range phases[0].Rows {
		switch r.Op {
		case engine.OpDelete, engine.OpDeleteReplaced, engine.OpCreateReplacement, engine.OpReplace:
			if !slices.ContainsFunc(out, func(o *row) bool { return o.URN == r.URN }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// steps returns the section of a phase.
func (s *Server) steps(stack string, n int, ph *phase, r *run) section {
	id := fmt.Sprintf("steps-%d", n)
	sec := section{ID: id, Tag: "section"}
	title := "What was done"
	switch {
	case ph.DryRun:
		title = "Plan"
	case r.Running:
		title = "What is done"
	}
	sec.Parts = append(sec.Parts, s.render(id+"-title", "div", "steps-title", writePhase(title, ph)))
	shown := 0
	for i, step := range ph.Rows {
		if step.Op == engine.OpSame && step.Error == "" && step.State == "done" {
			continue
		}
		if shown++; shown > maxRows {
			break
		}
		sec.Parts = append(sec.Parts, s.render(fmt.Sprintf("step-%d-%d", n, i), "div", "step",
			writeStep(stack, step, !ph.DryRun, step.State == "running" && !r.Running, step.URN != "" && inState(step, ph.DryRun))))
	}
	if shown > maxRows {
		sec.Parts = append(sec.Parts, s.render(id+"-more", "p", "", func(m *markup) { m.f("The page shows the first %v steps.", maxRows) }))
	}
	return sec
}

// inState reports whether the state has a resource, as far as its step tells.
func inState(r *row, planned bool) bool {
	switch r.Op {
	case engine.OpCreate, engine.OpImport:
		return !planned && r.State == "done"
	case engine.OpDelete, engine.OpDiscard:
		return planned || r.State != "done"
	}
	return true
}

// unchanged counts the resources that needed nothing, as far as that is known.
func unchanged(ph *phase) int {
	if ph.Summary == nil {
		return 0
	}
	return ph.Summary.Changes.Same
}

// chart draws the timeline of the execution, or of the plan. It is nil before the first step.
func (s *Server) chart(v *view, r *run) *part {
	if len(v.phases) == 0 {
		return nil
	}
	if !r.Running {
		v.at = v.start.Add(r.Took)
	}
	t := v.phases[len(v.phases)-1].line.Timeline()
	if len(t.Bars) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := t.WriteSVG(&b, timeline.SVGOptions{Embedded: true}); err != nil {
		return nil
	}
	out := s.render("chart-drawing", "div", "chart", writeChart(raw(b.String())))
	return &out
}

// usage shows what providers have cost and used.
func (s *Server) usage(instances []runlog.Instances, costs []engine.ProviderCosts, uses []runlog.Use) section {
	uses = slices.Clone(uses)
	slices.SortFunc(uses, func(a, b runlog.Use) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Capability, b.Capability), cmp.Compare(a.Target, b.Target))
	})
	return section{ID: "usage", Parts: []part{
		s.render("instances", "div", "", writeInstances(instances)),
		s.render("costs", "div", "", writeCosts(costs)),
		s.render("uses", "div", "", writeUses(uses)),
	}}
}

// providers shows what the project grants its providers, and what they did in the last run.
func (s *Server) providers(w *workspace.Workspace, stack string) (*page, error) {
	p := s.newPage(w, stack, "providers", "Providers of "+stack)
	p.add(section{ID: "granted", Parts: []part{s.render("granted-list", "div", "", writeGranted(w.Project.Providers))}})
	runs := s.list(w, stack)
	if len(runs) == 0 {
		p.add(section{ID: "usage", Parts: []part{s.render("no-runs", "p", "", func(m *markup) {
			m.f("The stack %s has no recorded run: what its providers do is shown after the next one.", stack)
		})}})
		return p, nil
	}
	v, err := s.views.get(runs[0].of, &runs[0].Record)
	if err != nil {
		return nil, err
	}
	defer v.mu.Unlock()
	p.add(section{ID: "latest", Parts: []part{s.render("latest-run", "p", "", func(m *markup) {
		m.f(`<span class="faint">In the last run: <a href="%s">%s, %s</a></span> %s`, stackPath(stack, "runs", runs[0].ID), runs[0].Kind, timed(runs[0].When()), stateOf(&runs[0]))
	})}})
	p.add(s.usage(v.instances, v.costs, v.uses))
	return p, nil
}
