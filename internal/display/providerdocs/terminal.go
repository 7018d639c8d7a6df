package providerdocs

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/display"
)

// Terminal writes for a terminal with so many columns.
type Terminal struct {
	Style   display.Style
	Columns int

	b strings.Builder
}

// Package returns an overview of a package.
func (t *Terminal) Package(p *schema.Package, requests []string) string {
	t.line(t.Style.Strong(display.Escape(Title(p))))
	t.wrapped("", p.Description)
	if len(requests) > 0 {
		t.heading("It asks for")
		for _, r := range requests {
			t.line("  " + display.Escape(r))
		}
	}
	t.object("Configuration", &p.Config, true)
	list := func(heading string, rows [][2]string) {
		if len(rows) == 0 {
			return
		}
		t.heading(heading)
		width := 0
		for _, row := range rows {
			width = max(width, len(row[0]))
		}
		for _, row := range rows {
			name := "  " + display.Escape(row[0])
			if row[1] != "" {
				name = fmt.Sprintf("%-*s", min(width, 40)+2, name)
			}
			t.row(name, row[1])
		}
	}
	var resources, components, calls [][2]string
	for _, r := range p.Resources {
		row := [2]string{schema.ShortToken(r.Token), firstSentence(r.Description)}
		if r.Component {
			components = append(components, row)
		} else {
			resources = append(resources, row)
		}
	}
	for _, f := range functions(p) {
		calls = append(calls, [2]string{schema.ShortToken(f.Token), firstSentence(f.Description)})
	}
	list("Resources", resources)
	list("Components", components)
	list("Functions", calls)
	return t.b.String()
}

// Type returns all about a resource type or function of a package. The error is [*NotFoundError].
func (t *Terminal) Type(p *schema.Package, name string) (string, error) {
	r, f, err := find(p, name)
	switch {
	case err != nil:
		return "", err
	case r != nil:
		t.resource(r)
	default:
		t.function(f)
	}
	return t.b.String(), nil
}

func (t *Terminal) resource(r *schema.Resource) {
	kind := "resource"
	if r.Component {
		kind = "component"
	}
	t.line(t.Style.Strong(display.Escape(schema.ShortToken(r.Token))) + "  " + kind)
	t.wrapped("", r.Description)
	t.deprecated(r.Deprecation)
	t.object("Inputs", &r.Inputs, true)
	t.object("Outputs", outputsOnly(r), false)
	if len(r.Methods) > 0 {
		t.heading("Methods")
		for _, m := range r.Methods {
			t.line("  " + display.Escape(m.Name))
		}
	}
	t.objects(&r.Inputs, &r.Outputs)
	t.heading("Example")
	t.code(resourceExample(r))
}

func (t *Terminal) function(f *schema.Function) {
	t.line(t.Style.Strong(display.Escape(schema.ShortToken(f.Token))) + "  " + kindOf(f))
	t.wrapped("", f.Description)
	t.deprecated(f.Deprecation)
	t.object("Arguments", &f.Args, true)
	t.object("Result", &f.Result, false)
	if f.Returns != nil {
		t.heading("Result")
		t.line("  " + display.Escape(typeName(f.Returns)))
	}
	t.objects(&f.Args, &f.Result)
	if !isMethod(f) {
		t.heading("Example")
		t.code(functionExample(f))
	}
}

// outputsOnly returns the outputs of a resource that are not also inputs.
func outputsOnly(r *schema.Resource) *schema.Object {
	only := &schema.Object{}
	for _, p := range r.Outputs.Properties {
		if r.Inputs.Property(p.Name) == nil {
			only.Properties = append(only.Properties, p)
		}
	}
	return only
}

func (t *Terminal) objects(of ...*schema.Object) {
	for _, o := range objects(of...) {
		t.object("Type "+schema.ShortToken(o.Token), o, true)
	}
}

func (t *Terminal) object(heading string, o *schema.Object, inputs bool) {
	if len(o.Properties) == 0 {
		return
	}
	t.heading(heading)
	for _, f := range fields(o, inputs) {
		text := f.typ
		if len(f.marks) > 0 {
			text += ", " + strings.Join(f.marks, ", ")
		}
		t.row("  "+display.Escape(f.name), text)
		t.wrapped(strings.Repeat(" ", max(nameColumns, len([]rune(f.name))+4)), f.text)
	}
}

func (t *Terminal) deprecated(text string) {
	if text != "" {
		t.wrapped("", "Deprecated: "+text)
	}
}

func (t *Terminal) heading(text string) { t.line("\n" + t.Style.Strong(display.Escape(text))) }

func (t *Terminal) line(text string) { t.b.WriteString(text + "\n") }

func (t *Terminal) code(text string) {
	for line := range strings.Lines(text) {
		t.b.WriteString("  " + display.EscapeLines(line))
	}
}

// row writes a name, and a text in lines beside it.
func (t *Terminal) row(name, text string) {
	indent := max(nameColumns, len([]rune(name))+2)
	for i, line := range Wrap(display.Escape(text), max(20, t.Columns-indent)) {
		if i > 0 {
			name = ""
		}
		t.line(fmt.Sprintf("%-*s%s", indent, name, line))
		name = ""
	}
	if name != "" {
		t.line(name)
	}
}

// nameColumns is the width of the column of names.
const nameColumns = 24

// wrapped writes a description in lines, paragraph by paragraph.
func (t *Terminal) wrapped(indent, text string) {
	text, _, _ = strings.Cut(text, "{{% examples %}}")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		for _, line := range Wrap(display.Escape(strings.Join(strings.Fields(paragraph), " ")), max(20, t.Columns-len(indent))) {
			t.line(indent + line)
		}
	}
}

// Wrap returns a text in lines of so many characters at most, but for longer words.
func Wrap(text string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > columns {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
