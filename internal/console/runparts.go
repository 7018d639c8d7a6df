package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/display"
)

// table writes a table in an area that a small screen scrolls. Headings that begin with # stand above numbers.
func (m *markup) table(label, caption string, headings []string, rows func()) {
	m.f(`<div class="wide" tabindex="0" role="region" aria-label="%s">`, label)
	m.plainTable(caption, headings, rows)
	m.f("</div>")
}

func (m *markup) plainTable(caption string, headings []string, rows func()) {
	m.f(`<table><caption>%s</caption><thead><tr>`, caption)
	for _, h := range headings {
		if h[0] == '#' {
			m.f(`<th scope="col" class="n">%s</th>`, h[1:])
		} else {
			m.f(`<th scope="col">%s</th>`, h)
		}
	}
	m.f("</tr></thead><tbody>")
	rows()
	m.f("</tbody></table>")
}

// head writes the first cell of a row.
func (m *markup) head(content any) { m.f(`<tr><th scope="row">%s</th>`, content) }

// numbers writes cells.
func (m *markup) numbers(values ...any) {
	for _, v := range values {
		m.f(`<td class="n">%s</td>`, v)
	}
}

func writeRuns(stack string, runs []run, damaged int, mayDeploy bool) func(*markup) {
	return func(m *markup) {
		if damaged > 0 {
			m.f(`<p class="state warn">%s of the history cannot be read</p>`, plural(damaged, "line"))
		}
		if mayDeploy {
			m.operations(stack)
		}
		if len(runs) == 0 {
			m.f("<p>The stack %s has not been deployed yet.</p>", stack)
			return
		}
		m.plainTable("Runs, the newest first", []string{"Began", "What", "Result", "Changes", "#Took", "Who"}, func() {
			for i := range runs {
				r := &runs[i]
				kind, user, host, took := r.Kind, r.User, r.Host, r.Took
				if u := r.Update; u != nil {
					kind, user, host, took = u.Kind, u.User, u.Host, u.End.Sub(u.Start)
					m.head(timed(r.When()))
				} else {
					m.head(made(func(m *markup) { m.f(`<a href="%s">%s</a>`, stackPath(stack, "runs", r.ID), timed(r.When())) }))
				}
				m.f("<td>%s</td><td>%s</td><td>%s</td>", display.Escape(kind), stateOf(r), r.Did())
				m.numbers(duration(took))
				m.f("<td>%s</td></tr>\n", who(user, host))
			}
		})
	}
}

func who(user, host string) string {
	if host != "" {
		user += "@" + host
	}
	return display.Escape(user)
}

// status is the first part of a run's page.
type status struct {
	Run       *run
	Stack     string
	Took      time.Duration
	Mine      bool
	Left      bool
	Deletions []*row
	Packs     []engine.PolicyPackLoaded
}

func (s *status) write(m *markup) {
	r, at := s.Run, stackPath(s.Stack, "runs", s.Run.ID)
	since := "after"
	if r.Running {
		since = "for"
	}
	m.f(`<p role="status">%s <span class="faint">%s %s</span></p>`, stateOf(r), since, duration(s.Took))
	m.f(`<p class="faint">%s of %s/%s by %s, %s</p>`, display.Escape(r.Kind), display.Escape(r.Project), s.Stack, who(r.User, r.Host), timed(r.Start))
	if r.End != nil && r.End.Error != "" {
		m.value("value error", r.End.Error)
	}
	for _, p := range s.Packs {
		m.f(`<p class="faint">Policy pack %s %s: %s</p>`, display.Escape(p.Name), display.Escape(p.Version), plural(len(p.Policies), "rule"))
	}
	if s.Left {
		m.f(`<p class="state warn">This run is longer than a record may be: some steps are left out</p>`)
	}
	switch {
	case r.Waits:
		s.writeQuestion(m, at)
	case s.Mine && r.Running:
		m.f(`<form method="post" action="%s"><button name="answer" value="stop" id="stop">Stop after the running steps</button></form>`, at)
	}
}

func (s *status) writeQuestion(m *markup, at string) {
	m.f(`<form method="post" action="%s" class="question" aria-label="Confirmation">`, at)
	if len(s.Deletions) > 0 {
		m.f(`<p class="danger-note"><strong>%s will be deleted or replaced:</strong></p><ul class="deleted">`, plural(len(s.Deletions), "resource"))
		for _, d := range s.Deletions {
			m.f(`<li><span aria-hidden="true">−</span> %s <span class="faint">(%s)</span></li>`, d.Subject, d.Did)
		}
		m.f("</ul>")
	}
	yes := "Yes, make these changes"
	if s.Run.Kind == "destroy" {
		yes = "Yes, delete these resources"
	}
	m.f(`<p><strong>Make these changes?</strong></p>
<button name="answer" value="yes" id="yes">%s</button>
<button name="answer" value="no" id="no">No, change nothing</button></form>`, yes)
}

func writePhase(title string, p *phase) func(*markup) {
	return func(m *markup) {
		done := "done"
		if p.DryRun {
			done = "planned"
		}
		m.f(`<h2>%s</h2><p class="faint">%v %s`, title, p.Finished(), done)
		if n := p.Running(); n > 0 {
			m.f(", %v running", n)
		}
		if n := p.Wrong(); n > 0 {
			m.f(`, <span class="state failed">%v failed</span>`, n)
		}
		if n := unchanged(p); n > 0 {
			m.f(", %v unchanged", n)
		}
		m.f("</p>")
	}
}

// writeStep writes a step. A linked one has a page of its resource; one that was cut off runs no longer.
func writeStep(stack string, r *row, timed, cut, linked bool) func(*markup) {
	return func(m *markup) {
		what := made(func(m *markup) {
			if linked {
				m.f(`<a href="%s">%s</a>`, resourcePath(stack, string(r.URN)), r.Subject)
			} else {
				m.f("%s", r.Subject)
			}
		})
		did, look, took := r.Did, lookOf(r.State), ""
		switch {
		case cut:
			did = "cut off"
		case r.State == "running":
			did += ": running…"
		case r.State == "done":
			look = lookOf(r.Op)
			if timed && r.Took > 0 {
				took = duration(r.Took)
			}
		}
		m.f(`<div class="step-line"><span class="mark %s" aria-hidden="true">%s</span><span class="what">%s</span><span class="did %s">%s</span><span class="took faint">%s</span></div>`,
			lookOf(r.Op), symbolOf(r), what, look, did, took)
		if r.Error != "" {
			m.value("value error", r.Error)
		}
		if r.Reason != "" {
			m.f(`<p class="faint reason">%s</p>`, display.Escape(r.Reason))
		}
		if len(r.Changes) > 0 {
			m.f(`<details><summary>%s</summary><dl class="changes">`, changed(r.Changes))
			for _, c := range r.Changes {
				m.change(c)
			}
			m.f("</dl></details>")
		}
	}
}

// change writes a difference: texts by their contents or by line, other values whole.
func (m *markup) change(c engine.PropertyChange) {
	kind, lines := "", []string(nil)
	if c.Kind == "update" {
		kind, lines = display.TextDifference(c.Old, c.New)
	}
	what := kindWord(c.Kind)
	switch {
	case c.Kind == "move":
		what += " from " + display.Escape(c.From)
	case c.Old == c.New && c.Kind == "update":
		what += ", and not shown"
	case kind != "":
		what += " inside of " + kind
	}
	if c.Replaces {
		what += ", which replaces the resource"
	}
	m.f(`<dt><code>%s</code> <span class="faint">%s</span></dt>`, display.Escape(c.Path), what)
	if lines != nil {
		for _, line := range lines {
			if kind != "" && len(line) > 1 {
				line = line[:1] + strings.TrimPrefix(line[1:], " ")
			}
			m.side(line)
		}
		return
	}
	if c.Old != "" && c.Old != c.New {
		m.side("-" + display.TextLines(c.Old))
	}
	if c.New != "" {
		sign := "+"
		if c.Old == c.New || c.Kind == "move" {
			sign = " "
		}
		m.side(sign + display.TextLines(c.New))
	}
}

// side writes a line of a difference, which begins with a sign.
func (m *markup) side(line string) {
	class, sign, word := "", " ", ""
	if rest, ok := strings.CutPrefix(line, "-"); ok {
		class, sign, word, line = "old", "−", "before: ", rest
	} else if rest, ok := strings.CutPrefix(line, "+"); ok {
		class, sign, word, line = "new", "+", "after: ", rest
	} else {
		line = strings.TrimPrefix(line, " ")
	}
	m.f(`<dd class="%s"><span class="sign" aria-hidden="true">%s</span><span class="unseen">%s</span><pre class="value">%s</pre></dd>`, class, sign, word, line)
}

// writeOutputs writes the outputs of a stack, after what changes in them.
func writeOutputs(o engine.StackOutputs) func(*markup) {
	return func(m *markup) {
		if len(o.Changes) > 0 {
			m.f(`<h2>Outputs that change</h2><dl class="changes">`)
			for _, c := range o.Changes {
				m.change(c)
			}
			m.f("</dl>")
		}
		writeValues("Outputs", valuesOf(o.Outputs))(m)
	}
}

func writeMessages(messages []message) func(*markup) {
	return func(m *markup) {
		if len(messages) == 0 {
			return
		}
		m.f(`<h2>Messages</h2><ul class="messages">`)
		for _, one := range messages {
			m.f(`<li>%s`, resultState(one.Severity))
			if one.Who != "" {
				m.f(" <strong>%s</strong>", display.Escape(one.Who))
			}
			m.f(" %s", one.About)
			m.value("value", one.Text)
			m.f("</li>")
		}
		m.f("</ul>")
	}
}

func writeChart(drawing raw) func(*markup) {
	return func(m *markup) {
		m.f(`<h2>Timeline</h2><p class="faint">A line for each step, by its beginning. Those with a frame are the chain that took longest.</p>%s`, drawing)
	}
}

func writeInstances(all []runlog.Instances) func(*markup) {
	return func(m *markup) {
		if len(all) == 0 {
			return
		}
		headings := []string{"Name", "#Instances now", "#Memory now", "#Most memory", "#Calls", "#Fuel", "#Started", "Failures", "Module"}
		m.table("Instances", "Instances of providers and policy packs", headings, func() {
			for _, i := range all {
				m.head(made(func(m *markup) {
					m.f("%s %s%s", display.Escape(i.Name), display.Escape(i.Version), when(i.Policy, ` <span class="badge">policy</span>`))
				}))
				m.numbers(i.Instances, display.Megabytes(i.Memory), display.Megabytes(i.Peak), i.Calls, amount(i.Fuel), i.Started)
				m.f("<td>")
				for _, why := range slices.Sorted(maps.Keys(i.Failures)) {
					m.f(`<span class="state failed">%v %s</span> `, i.Failures[why], why)
				}
				m.f(`%s</td><td><code title="%s">%s</code></td></tr>`+"\n", when(len(i.Failures) == 0, "none"), i.Digest, shortDigest(i.Digest))
			}
		})
	}
}

func writeCosts(all []engine.ProviderCosts) func(*markup) {
	return func(m *markup) {
		if len(all) == 0 {
			return
		}
		m.table("Calls", "Calls of providers, whose times may overlap", []string{"Provider", "Method", "#Calls", "#Failed", "#Mean", "#Longest", "#Fuel"}, func() {
			for _, p := range all {
				for _, c := range p.Methods {
					m.head(display.ProviderName(p))
					m.f("<td>%s</td>", c.Method)
					m.numbers(c.Calls, c.Failures, meanOf(c), display.Brief(time.Duration(c.LongestMicroseconds)*time.Microsecond), amount(c.Fuel))
					m.f("</tr>\n")
				}
			}
		})
	}
}

func writeUses(all []runlog.Use) func(*markup) {
	return func(m *markup) {
		if len(all) == 0 {
			return
		}
		m.table("Capabilities", "Capabilities that were used or refused", []string{"Provider", "Capability", "Target", "Outcome", "#Times", "First in"}, func() {
			for _, u := range all {
				m.head(display.Escape(u.Provider))
				outcome := raw(`<span class="state done">allowed</span>`)
				if !u.Allowed {
					outcome = made(func(m *markup) { m.f(`<span class="state failed">refused</span> %s`, display.Escape(u.Reason)) })
				}
				m.f("<td>%s</td><td><code>%s</code></td><td>%s</td>", u.Capability, display.Escape(u.Target), outcome)
				m.numbers(u.Count)
				m.f("<td>%s</td></tr>\n", u.Method)
			}
		})
	}
}

func writeGranted(providers []program.ProviderPlugin) func(*markup) {
	return func(m *markup) {
		if len(providers) == 0 {
			m.f("<p>The project lists no providers.</p>")
			return
		}
		m.table("Grants", "What the project grants", []string{"Provider", "Path", "Grants"}, func() {
			for _, p := range providers {
				m.head(display.Escape(fmt.Sprint(p.Name, " ", p.Version)))
				m.f("<td><code>%s</code></td><td>", display.Escape(p.Path))
				for _, g := range p.Grants {
					m.f("<div>%s <code>%s</code> %s", g.Capability, display.Escape(g.Scope), g.Mode)
					for _, h := range g.Headers {
						m.f(" with the header %s", display.Escape(h.Name))
					}
					m.f("</div>")
				}
				if p.Native {
					m.f("<strong>not sandboxed</strong>: a native plugin with all rights of the user")
				}
				m.f("%s</td></tr>\n", when(len(p.Grants) == 0 && !p.Native, "nothing"))
			}
		})
		m.f(`<p class="faint"><code>husk provider audit</code> compares this with what the providers ask for.</p>`)
	}
}
