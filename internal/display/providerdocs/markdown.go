package providerdocs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/display"
)

// Markdown returns the documentation of a package as one document of Markdown with tables.
func Markdown(p *schema.Package, requests []string) string {
	m := &markdown{}
	m.heading(1, Title(p))
	m.description(p.Description)
	if len(requests) > 0 {
		m.paragraph("It asks for these capabilities, which a project grants:")
		for _, r := range requests {
			m.b.WriteString("- " + code(r) + "\n")
		}
		m.b.WriteString("\n")
	}
	m.index(p)
	m.object(2, "Configuration", &p.Config, true)
	if len(p.Resources) > 0 {
		m.heading(2, "Resources")
	}
	for _, r := range p.Resources {
		m.resource(r)
	}
	if len(functions(p)) > 0 {
		m.heading(2, "Functions")
	}
	for _, f := range functions(p) {
		m.function(f)
	}
	var all []*schema.Object
	for _, r := range p.Resources {
		all = append(all, &r.Inputs, &r.Outputs)
	}
	for _, f := range functions(p) {
		all = append(all, &f.Args, &f.Result)
	}
	if types := objects(append(all, &p.Config)...); len(types) > 0 {
		m.heading(2, "Types")
		for _, o := range types {
			m.heading(3, schema.ShortToken(o.Token))
			m.description(o.Description)
			m.table(fields(o, true))
		}
	}
	return strings.TrimRight(m.b.String(), "\n") + "\n"
}

type markdown struct{ b strings.Builder }

func (m *markdown) heading(level int, text string) {
	m.b.WriteString(strings.Repeat("#", level) + " " + inline(text) + "\n\n")
}

func (m *markdown) paragraph(text string) { m.b.WriteString(text + "\n\n") }

// description writes the text of an author, which may be Markdown of several paragraphs.
func (m *markdown) description(text string) {
	text, _, _ = strings.Cut(text, "{{% examples %}}")
	if text = strings.TrimSpace(display.EscapeLines(text)); text != "" {
		m.paragraph(contained(text))
	}
}

// contained returns the text of an author without headings, which would look like this page's, and with each block of code
// closed.
func contained(text string) string {
	var lines []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		mark := fenceOf(trimmed)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && trimmed == mark:
			fence = ""
		case fence == "" && (strings.HasPrefix(trimmed, "#") || trimmed != "" && strings.Trim(trimmed, "=-") == ""):
			line = `\` + trimmed
		}
		lines = append(lines, line)
	}
	if fence != "" {
		lines = append(lines, fence)
	}
	return strings.Join(lines, "\n")
}

// fenceOf returns the mark with which a line begins or ends a block of code, empty for other lines.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func (m *markdown) index(p *schema.Package) {
	if len(p.Resources)+len(p.Functions) == 0 {
		return
	}
	m.b.WriteString("| | |\n| --- | --- |\n")
	row := func(token, text string) {
		name := schema.ShortToken(token)
		m.b.WriteString("| [" + inline(name) + "](#" + Anchor(name) + ") | " + cell(firstSentence(text)) + " |\n")
	}
	for _, r := range p.Resources {
		row(r.Token, r.Description)
	}
	for _, f := range functions(p) {
		row(f.Token, f.Description)
	}
	m.b.WriteString("\n")
}

func (m *markdown) resource(r *schema.Resource) {
	m.heading(3, schema.ShortToken(r.Token))
	m.description(r.Description)
	m.deprecated(r.Deprecation)
	m.b.WriteString("```yaml\n" + resourceExample(r) + "```\n\n")
	m.object(4, "Inputs", &r.Inputs, true)
	m.object(4, "Outputs", outputsOnly(r), false)
	if len(r.Methods) > 0 {
		m.heading(4, "Methods")
		for _, method := range r.Methods {
			m.b.WriteString("- " + code(method.Name) + "\n")
		}
		m.b.WriteString("\n")
	}
}

func (m *markdown) function(f *schema.Function) {
	m.heading(3, schema.ShortToken(f.Token))
	if kind := kindOf(f); kind != "function" {
		m.paragraph(strings.ToUpper(kind[:1]) + kind[1:] + ".")
	}
	m.description(f.Description)
	m.deprecated(f.Deprecation)
	m.b.WriteString("```yaml\n" + functionExample(f) + "```\n\n")
	m.object(4, "Arguments", &f.Args, true)
	m.object(4, "Result", &f.Result, false)
	if f.Returns != nil {
		m.paragraph("Returns " + inline(typeName(f.Returns)) + ".")
	}
}

func (m *markdown) deprecated(text string) {
	if text != "" {
		m.paragraph("**Deprecated:** " + cell(text))
	}
}

func (m *markdown) object(level int, heading string, o *schema.Object, inputs bool) {
	if len(o.Properties) > 0 {
		m.heading(level, heading)
		m.table(fields(o, inputs))
	}
}

func (m *markdown) table(all []field) {
	if len(all) == 0 {
		return
	}
	m.b.WriteString("| property | type | |\n| --- | --- | --- |\n")
	for _, f := range all {
		about := cell(f.text)
		if len(f.marks) > 0 {
			about = strings.TrimSpace("*" + cell(strings.Join(f.marks, "; ")) + "*. " + about)
		}
		fmt.Fprintf(&m.b, "| %s | %s | %s |\n", code(f.name), cell(f.typ), about)
	}
	m.b.WriteString("\n")
}

// inline returns text in which no character is a command of Markdown.
func inline(text string) string {
	return regexp.MustCompile("[\\\\`*_{}\\[\\]<>#|]").ReplaceAllString(display.EscapeLines(text), `\$0`)
}

// cell returns the text of an author for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(display.EscapeLines(text)), " "), "|", `\|`)
}

func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(display.EscapeLines(text)) + "`"
}

// Anchor returns the anchor of a heading, as GitHub makes it.
func Anchor(heading string) string {
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(heading), " ", "-"), "")
}
