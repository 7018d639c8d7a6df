package console

import (
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
)

func writeError(text string) func(*markup) {
	return func(m *markup) {
		m.f(`<p class="state failed">Error</p>`)
		m.value("value", text)
		m.f(`<p><a href="/">All stacks</a></p>`)
	}
}

func writeOverview(count int, place, selected string, mayDeploy bool) func(*markup) {
	return func(m *markup) {
		m.f(`<p class="faint">%s, kept in <code>%s</code></p>`, plural(count, "stack"), display.Escape(place))
		if count > 0 {
			return
		}
		m.f(`<p>There is no stack yet: <code>husk up</code> makes the stack %s`, selected)
		if mayDeploy {
			m.f(`, and so does an update on <a href="%s">its page</a>`, stackPath(selected))
		}
		m.f(".</p>")
	}
}

// written says when a state was written.
func (m *markup) written(t time.Time) {
	if !t.IsZero() {
		m.f(` <span class="faint">written %s</span>`, timed(t))
	}
}

// lastRun links to the last run of a stack, if there is one.
func (m *markup) lastRun(stack string, r *run) {
	if r != nil {
		m.f(`<p>Last run: <a href="%s">%s, %s</a> %s</p>`, stackPath(stack, "runs", r.ID), r.Kind, timed(r.When()), stateOf(r))
	}
}

func stateOf(r *run) raw { return resultState(r.State()) }

func (l *stackLine) write(m *markup) {
	m.f(`<h2><a href="%s">%s</a>%s</h2>`, stackPath(l.Name), l.Name, when(l.Selected, ` <span class="badge">selected</span>`))
	if l.Error != "" {
		m.f(`<p class="state failed">cannot be read</p>`)
		m.value("value", l.Error)
	} else {
		m.f("<p>%s", plural(l.Resources, "resource"))
		m.written(l.Updated)
		m.f("</p>")
	}
	m.lastRun(l.Name, l.Latest)
}

// about is the first part of a stack's page.
type about struct {
	Stack          string
	Count, Pending int
	Updated        time.Time
	Latest         *run
	MayDeploy      bool
}

func (a *about) write(m *markup) {
	m.f("<p>%s", plural(a.Count, "resource"))
	m.written(a.Updated)
	m.f("</p>")
	m.lastRun(a.Stack, a.Latest)
	if a.Pending > 0 {
		m.f(`<p class="state warn">%s of an earlier run cut off: the next run says what to do</p>`, plural(a.Pending, "operation"))
	}
	if a.MayDeploy {
		m.operations(a.Stack)
	}
}

// operations writes the form that begins a run.
func (m *markup) operations(stack string) {
	m.f(`<form method="post" action="%s" class="operations">
<button name="operation" value="preview">Preview</button>
<button name="operation" value="up">Update…</button>
<button name="operation" value="refresh">Refresh…</button>
<button name="operation" value="destroy" class="danger">Destroy…</button>
<p class="faint">An update, a refresh, and a destruction show their plan first, and wait for your confirmation.</p>
</form>`, stackPath(stack, "runs"))
}

func writeTree(stack string, lines []treeLine) func(*markup) {
	return func(m *markup) {
		if len(lines) == 0 {
			m.f("<p>The stack %s has no resources.</p>", stack)
			return
		}
		m.f(`<h2>Resources</h2><ul class="tree">`)
		for _, l := range lines {
			m.f(`<li><span class="lines" aria-hidden="true">%s</span>`, l.Prefix)
			if l.Resource == nil {
				m.f("and %v more: husk state ls lists all</li>", l.More)
				continue
			}
			m.f(`<a href="%s">%s</a>`, resourcePath(stack, string(l.Resource.URN)), l.Subject)
			if l.Marks != "" {
				m.f(` <span class="badge">%s</span>`, l.Marks)
			}
			m.f("</li>\n")
		}
		m.f("</ul>")
	}
}

func writeValues(title string, values []shownValue) func(*markup) {
	return func(m *markup) {
		if len(values) == 0 {
			return
		}
		m.f(`<h2>%s</h2><dl class="values">`, title)
		for _, v := range values {
			m.f("<dt>%s</dt><dd>", display.Escape(v.Name))
			m.value("value", v.Text)
			m.f("</dd>\n")
		}
		m.f("</dl>")
	}
}

// facts are the facts about a resource of a state.
type facts struct {
	Stack         string
	R             *state.Resource
	Provider      urn.URN
	Module, Marks string
	Dependents    []urn.URN
}

func (f *facts) write(m *markup) {
	fact := func(name, text string) {
		if text != "" {
			m.f("<dt>%s</dt><dd><code>%s</code></dd>", name, display.Escape(text))
		}
	}
	links := func(name string, urns ...urn.URN) {
		for _, u := range urns {
			if u == "" {
				continue
			}
			if name != "" {
				m.f("<dt>%s</dt>", name)
				name = ""
			}
			m.f(`<dd><a href="%s">%s</a></dd>`, resourcePath(f.Stack, string(u)), display.Subject(u.Type(), u.Name()))
		}
	}
	m.f(`<dl class="facts">`)
	fact("URN", string(f.R.URN))
	fact("ID", f.R.ID)
	if f.Marks != "" {
		m.f(`<dt>Marks</dt><dd><span class="badge">%s</span></dd>`, f.Marks)
	}
	links("Parent", f.R.Parent)
	links("Provider", f.Provider)
	fact("Module", f.Module)
	links("Depends on", f.R.Dependencies...)
	links("Needed by", f.Dependents...)
	for _, t := range []struct {
		name string
		at   time.Time
	}{{"Created", f.R.Created}, {"Modified", f.R.Modified}} {
		if !t.at.IsZero() {
			m.f("<dt>%s</dt><dd>%s</dd>", t.name, timed(t.at))
		}
	}
	for _, text := range f.R.InitErrors {
		m.f("<dt>Not ready</dt><dd>")
		m.value("value", text)
		m.f("</dd>")
	}
	m.f("</dl>")
}

func writeGraph(stack string, count int, drawing raw) func(*markup) {
	return func(m *markup) {
		switch {
		case drawing != "":
			m.f(`<p class="faint">An arrow leads from a resource to one that it depends on. <a href="%s">The tree</a> has the same resources as text.</p>%s`, stackPath(stack), drawing)
		case count > 0:
			m.f("<p>%s: more than the %v that are drawn. <code>husk graph -o stack.svg</code> draws all.</p>", plural(count, "resource"), maxDrawn)
		default:
			m.f("<p>The stack %s has no resources.</p>", stack)
		}
	}
}
