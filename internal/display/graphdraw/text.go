package graphdraw

import (
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes the graph in the language of Graphviz.
func (g *Graph) WriteDOT(w io.Writer) error {
	t := newTree(g)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quoteDOT(g.Title))
	fmt.Fprintf(&b, "  graph [label=%s, labelloc=t, rankdir=RL, compound=true, fontname=\"sans-serif\"];\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n", quoteDOT(g.Title))
	var write func(members []int, indent string)
	write = func(members []int, indent string) {
		for _, i := range members {
			n := g.Nodes[i]
			label := quoteDOT(n.Name + "\n" + n.second())
			if !t.isCluster(i) {
				fmt.Fprintf(&b, "%sn%d [label=%s%s, tooltip=%s];\n", indent, i, label, colourDOT(n.Look), quoteDOT(n.details()))
				continue
			}
			fmt.Fprintf(&b, "%ssubgraph cluster_%d {\n%s  label=%s; tooltip=%s;\n", indent, i, indent, label, quoteDOT(n.details()))
			// Graphviz draws an edge of a cluster as one of a node in it, up to the border.
			fmt.Fprintf(&b, "%s  n%d [shape=point, style=invis, label=\"\"];\n", indent, i)
			write(t.children[i], indent+"  ")
			b.WriteString(indent + "}\n")
		}
	}
	write(t.children[len(g.Nodes)], "  ")
	for _, e := range t.edges {
		var attributes []string
		if e.edge.Label != "" {
			attributes = append(attributes, "label="+quoteDOT(e.edge.Label))
		}
		if e.edge.Dashed {
			attributes = append(attributes, "style=dashed")
		}
		if t.isCluster(e.from) {
			attributes = append(attributes, fmt.Sprintf("ltail=cluster_%d", e.from))
		}
		if t.isCluster(e.to) {
			attributes = append(attributes, fmt.Sprintf("lhead=cluster_%d", e.to))
		}
		fmt.Fprintf(&b, "  n%d -> n%d", e.from, e.to)
		if len(attributes) > 0 {
			b.WriteString(" [" + strings.Join(attributes, ", ") + "]")
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// second returns the second line of the box.
func (n Node) second() string {
	if n.Note == "" {
		return n.Kind
	}
	return n.Kind + " (" + n.Note + ")"
}

func colourDOT(l Look) string {
	switch l {
	case LookAdded:
		return ", color=\"#1a7f37\""
	case LookChanged:
		return ", color=\"#9a6700\""
	case LookRemoved:
		return ", color=\"#cf222e\""
	case LookFaint:
		return ", style=\"rounded,dashed\""
	}
	return ""
}

// quoteDOT returns a quoted string. Backslashes begin escapes of labels, so they are doubled.
func quoteDOT(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(clean(text, '\n')) + `"`
}

// WriteMermaid writes the graph as a Mermaid flowchart, which Markdown viewers draw.
func (g *Graph) WriteMermaid(w io.Writer) error {
	t := newTree(g)
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: \"%s\"\n---\nflowchart RL\n", strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(g.Title)))
	byLook := make(map[Look][]string)
	var write func(members []int, indent string)
	write = func(members []int, indent string) {
		for _, i := range members {
			n := g.Nodes[i]
			label := quoteMermaid(n.Name) + "<br>" + quoteMermaid(n.second())
			if n.Look != LookPlain {
				byLook[n.Look] = append(byLook[n.Look], fmt.Sprintf("n%d", i))
			}
			if !t.isCluster(i) {
				fmt.Fprintf(&b, "%sn%d[\"%s\"]\n", indent, i, label)
				continue
			}
			fmt.Fprintf(&b, "%ssubgraph n%d[\"%s\"]\n", indent, i, label)
			write(t.children[i], indent+"  ")
			b.WriteString(indent + "end\n")
		}
	}
	write(t.children[len(g.Nodes)], "  ")
	for _, e := range t.edges {
		arrow := "-->"
		if e.edge.Dashed {
			arrow = "-.->"
		}
		if e.edge.Label != "" {
			arrow += `|"` + quoteMermaid(e.edge.Label) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", e.from, arrow, e.to)
	}
	for _, look := range []struct {
		look  Look
		style string
	}{
		{LookAdded, "stroke:#1a7f37,stroke-width:2px"}, {LookChanged, "stroke:#9a6700,stroke-width:2px"},
		{LookRemoved, "stroke:#cf222e,stroke-width:2px"}, {LookFaint, "stroke-dasharray:3"},
	} {
		if nodes := byLook[look.look]; len(nodes) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %[1]s\n", look.look, look.style, strings.Join(nodes, ","))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoteMermaid returns text within quotes. Characters that mean something to Mermaid, to Markdown in its labels, or to
// HTML are entities by their numbers.
func quoteMermaid(text string) string {
	var b strings.Builder
	for _, r := range clean(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" -_.:/,()", r), r > 0x7f:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// clean replaces control characters, except the kept ones, and bytes that are not text.
func clean(text string, kept ...rune) string {
	return strings.Map(func(r rune) rune {
		for _, k := range kept {
			if r == k {
				return r
			}
		}
		if r < ' ' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
