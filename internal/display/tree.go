package display

import (
	"fmt"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// row is a line of the live tree: a resource that is being changed, one that waits, or a component around some.
type row struct {
	step     engine.StepInfo
	state    string
	style    func(Style, string) string
	parent   urn.URN // the nearest component with a row, empty for none
	children []*row
}

// liveTree returns the lines of the resources that are being changed, longest first, and of waiting ones, each below its
// components. There are most lines at most.
func (t *Text) liveTree(now time.Time, columns, most int) []string {
	running := t.longest()
	if len(running) == 0 && t.progress.first == len(t.progress.order) {
		return nil
	}
	footer := t.footer(len(running), columns)
	if len(footer) > 0 {
		most--
	}
	if len(t.acting)+len(t.preparing) > 0 {
		most -= min(len(t.acting)+len(t.preparing), most/3)
	}
	f := &forest{text: t, rows: make(map[urn.URN]*row), most: max(1, most)}
	left := 0
	for _, r := range running {
		words := wordsOf(r.step.Op, false)
		if !f.add(r.step, t.doing(r.step.Op)+"… "+duration(now.Sub(r.since)), words.paint) {
			left++
		}
	}
	for _, one := range t.progress.order[t.progress.first:] {
		if f.count >= f.most {
			break
		}
		if !one.begun {
			f.add(one.step, t.waiting(one), Style.faint)
		}
	}
	if left > 0 && len(footer) == 0 {
		f.dropLast()
		footer = []string{fmt.Sprintf("  … and %d more", left+1)}
	}
	var lines []string
	for i, r := range f.roots {
		lines = f.lines(lines, r, "  ", "", i == len(f.roots)-1, columns)
	}
	return append(lines, footer...)
}

// waiting says what a change waits for.
func (t *Text) waiting(one *planned) string {
	needs, others := t.progress.awaited(one)
	switch {
	case others:
		return "waits for the end of the program"
	case len(needs) == 0:
		return "is next"
	}
	text := "waits for " + subject(needs[0].Resource, needs[0].Name)
	if more := len(needs) - 1; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}

// footer returns the line that counts, if there is a plan.
func (t *Text) footer(running, columns int) []string {
	p := t.progress
	if len(p.order) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d done", p.ended-p.failed, len(p.order))
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	text += fmt.Sprintf(", %d running", running)
	waiting := 0
	for _, one := range p.order[p.first:] {
		if !one.begun {
			waiting++
		}
	}
	if waiting > 0 {
		text += fmt.Sprintf(", %d waiting", waiting)
	}
	return []string{"  " + t.style.faint(cutLine(text, columns-2))}
}

// forest has the rows that are shown.
type forest struct {
	text  *Text
	rows  map[urn.URN]*row
	roots []*row
	last  []*row // in the order in which they were added
	count int
	most  int
}

// add adds a row and the rows of the components around it, if there is room.
func (f *forest) add(s engine.StepInfo, state string, style func(Style, string) string) bool {
	if f.count >= f.most {
		return false
	}
	if r := f.rows[key(s)]; r != nil { // it is there as a component
		r.step, r.state, r.style = s, state, style
		return true
	}
	var around []engine.StepInfo
	for u, depth := s.Parent, 0; u != "" && depth < 100; depth++ {
		component, ok := f.text.progress.components[u]
		if !ok || component.Resource == urn.RootType || f.rows[u] != nil {
			break
		}
		around = append(around, component)
		u = component.Parent
	}
	if f.count+1+len(around) > f.most {
		around = nil
	}
	for i := len(around) - 1; i >= 0; i-- {
		f.put(around[i], f.text.below(around[i].URN), Style.faint)
	}
	f.put(s, state, style)
	return true
}

// below says how much of a component is done.
func (t *Text) below(u urn.URN) string {
	if one := t.progress.byURN[u]; one != nil && one.below > 0 {
		return fmt.Sprintf("%d of %d done", one.below-one.open, one.below)
	}
	return ""
}

func (f *forest) put(s engine.StepInfo, state string, style func(Style, string) string) {
	r := &row{step: s, state: state, style: style}
	if parent := f.rows[s.Parent]; parent != nil && s.Parent != "" {
		r.parent = s.Parent
		parent.children = append(parent.children, r)
	} else {
		f.roots = append(f.roots, r)
	}
	f.rows[key(s)] = r
	f.last = append(f.last, r)
	f.count++
}

// dropLast removes the row that was added last.
func (f *forest) dropLast() {
	r := f.last[len(f.last)-1]
	if parent := f.rows[r.parent]; parent != nil && r.parent != "" {
		parent.children = parent.children[:len(parent.children)-1]
	} else {
		f.roots = f.roots[:len(f.roots)-1]
	}
}

// The widths of the columns, in cells of the terminal.
const (
	wideTerminal  = 110 // from which on there is a column of providers
	wideSubject   = 64
	providerWidth = 22
	branchWidth   = 3
	leastType     = 10
)

// lines appends the lines of a row and of those below it.
func (f *forest) lines(lines []string, r *row, indent, branch string, last bool, columns int) []string {
	style, words := f.text.style, wordsOf(r.step.Op, false)
	symbol := fmt.Sprintf("%-2s ", words.symbol)
	if quiet(r.step.Op) {
		symbol = "   " // a component around others, which itself stays
	}
	lead := indent + branch
	width, provider := min(subjectWidth+5, columns*3/5), "" // with two spaces and the symbol
	if columns >= wideTerminal {
		width = wideSubject
		provider = padLine(providerOf(r.step), providerWidth) + " "
	} else if r.step.Provider != "" && r.state != "" {
		r.state += " by " + Escape(r.step.Provider.Name())
	}
	room := max(0, width-lineWidth(lead)-3)
	name := padLine(cutSubject(r.step, min(room, columns-lineWidth(lead)-3)), room)
	room = columns - lineWidth(lead) - 3 - lineWidth(name) - 1
	shown := provider + r.state
	if room < lineWidth(shown) {
		shown = cutLine(shown, max(0, room))
	}
	line := style.faint(lead) + words.paint(style, symbol) + name
	if strings.HasPrefix(shown, provider) {
		line += " " + style.faint(provider) + r.style(style, shown[len(provider):])
	} else {
		line += " " + style.faint(shown)
	}
	lines = append(lines, strings.TrimRight(line, " "))
	below := indent
	switch {
	case branch == "":
	case last:
		below += strings.Repeat(" ", branchWidth)
	default:
		below += "│  "
	}
	for i, child := range r.children {
		corner := "├─ "
		if i == len(r.children)-1 {
			corner = "└─ "
		}
		lines = f.lines(lines, child, below, corner, i == len(r.children)-1, columns)
	}
	return lines
}

// cutSubject names a resource in so many cells. If that takes more, the type is cut first.
func cutSubject(s engine.StepInfo, cells int) string {
	typ, name := Escape(shortType(s.Resource)), Escape(s.Name)
	if over := lineWidth(typ) + 1 + lineWidth(name) - cells; over > 0 {
		typ = cutLine(typ, max(leastType, lineWidth(typ)-over))
	}
	return cutLine(typ+" "+name, cells)
}

// providerOf names the provider of a resource: its package, and its name if the program gives it one.
func providerOf(s engine.StepInfo) string {
	if !s.Custom {
		return ""
	}
	pkg, _, _ := strings.Cut(s.Resource, ":")
	if s.Provider != "" {
		pkg += " " + s.Provider.Name()
	}
	return cutLine(Escape(pkg), providerWidth)
}
