package graphdraw

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

// SVGOptions say how an SVG is made.
type SVGOptions struct {
	// Embedded leaves out the background and the fixed size, for a page that has its own, and colours that follow
	// the page: it has the properties of [Stylesheet].
	Embedded bool
}

// maxLabelled is the number of edges up to which labels are drawn. Those of more would hide each other; a pointer
// over an edge shows its label in any case.
const maxLabelled = 80

// WriteSVG draws the graph. Dependencies are to the left of their dependents.
func (g *Graph) WriteSVG(w io.Writer, o SVGOptions) error {
	l := arrange(g)
	var b strings.Builder
	size := ""
	if !o.Embedded {
		size = fmt.Sprintf(` width="%s" height="%s"`, number(l.size.W), number(l.size.H))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s"%s class="husk-graph" role="img" aria-label="%s">`+"\n",
		number(l.size.W), number(l.size.H), size, escape(g.summary()))
	if !o.Embedded {
		b.WriteString("<style>\n" + Stylesheet + "</style>\n" + `<rect class="ground" width="100%" height="100%"/>` + "\n")
	}
	b.WriteString(`<defs><marker id="husk-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">` +
		`<path class="tip" d="M0 0.5L8 4L0 7.5z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<text class="title" x="%s" y="%s">%s</text>`+"\n", number(margin), number(margin+titleSize), escape(g.Title))
	for i := range g.Nodes {
		if l.isCluster(i) && l.parent[i] < 0 {
			l.drawClusters(&b, i)
		}
	}
	for e, link := range l.edges {
		drawEdge(&b, g, link, l.lines[e], len(l.edges) <= maxLabelled)
	}
	for i, node := range g.Nodes {
		if !l.isCluster(i) {
			drawNode(&b, node, l.boxes[i], "node")
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// summary says in words what the picture is.
func (g *Graph) summary() string {
	return fmt.Sprintf("%s: %d resources, %d dependencies", g.Title, len(g.Nodes), len(g.Edges))
}

// drawClusters draws a cluster and those within it, which are over it.
func (l *layout) drawClusters(b *strings.Builder, i int) {
	drawNode(b, l.Nodes[i], l.boxes[i], "cluster")
	for _, child := range l.children[i] {
		if l.isCluster(child) {
			l.drawClusters(b, child)
		}
	}
}

func drawNode(b *strings.Builder, n Node, at box, class string) {
	if n.Look != LookPlain {
		class += " " + string(n.Look)
	}
	fmt.Fprintf(b, `<g class="%s" data-id="%s"><title>%s</title><rect x="%s" y="%s" width="%s" height="%s" rx="5"/>`,
		escape(class), escape(n.ID), escape(n.details()), number(at.X), number(at.Y), number(at.W), number(at.H))
	fmt.Fprintf(b, `<text class="name" x="%s" y="%s">%s</text>`, number(at.X+nodePadding), number(at.Y+18), escape(cut(n.Name)))
	fmt.Fprintf(b, `<text class="kind" x="%s" y="%s">%s`, number(at.X+nodePadding), number(at.Y+33), escape(cut(n.Kind)))
	if n.Note != "" {
		fmt.Fprintf(b, `<tspan class="note" dx="6">%s</tspan>`, escape(n.Note))
	}
	b.WriteString("</text></g>\n")
}

func (n Node) details() string {
	text := n.Kind + " " + n.Name
	if n.Details != "" {
		text = n.Details
	}
	if n.Note != "" {
		text += " (" + n.Note + ")"
	}
	return text
}

func drawEdge(b *strings.Builder, g *Graph, e link, line []point, labelled bool) {
	class := "edge"
	if e.edge.Dashed {
		class += " dashed"
	}
	from, to := g.Nodes[e.from], g.Nodes[e.to]
	about := from.Name + " depends on " + to.Name
	if e.edge.Label != "" {
		about += ": " + e.edge.Label
	}
	fmt.Fprintf(b, `<g class="%s" data-from="%s" data-to="%s"><title>%s</title><path marker-end="url(#husk-tip)" d="%s"/>`,
		class, escape(from.ID), escape(to.ID), escape(about), curve(line))
	if labelled && e.edge.Label != "" {
		// Beside the box that depends: there, labels of edges to one box lie apart.
		at, next := line[0], line[1]
		x, y := at.X*0.7+next.X*0.3, at.Y*0.8+next.Y*0.2
		fmt.Fprintf(b, `<text class="label" x="%s" y="%s">%s</text>`, number(x), number(y-3), escape(cutTo(e.edge.Label, 24)))
	}
	b.WriteString("</g>\n")
}

// curve returns a path through points that leaves and reaches each of them horizontally.
func curve(line []point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", number(line[0].X), number(line[0].Y))
	for k := 1; k < len(line); k++ {
		p, q := line[k-1], line[k]
		if p.Y == q.Y {
			fmt.Fprintf(&b, "L%s %s", number(q.X), number(q.Y))
			continue
		}
		bend := (p.X - q.X) / 2
		fmt.Fprintf(&b, "C%s %s %s %s %s %s", number(p.X-bend), number(p.Y), number(q.X+bend), number(q.Y), number(q.X), number(q.Y))
	}
	return b.String()
}

// Stylesheet has the colours and fonts of an SVG, light and dark.
const Stylesheet = `.husk-graph{--ground:#fff;--ink:#1c2128;--soft:#57606a;--box:#f6f8fa;--line:#8c959f;--group:#0969da0a;
--added:#1a7f37;--changed:#9a6700;--removed:#cf222e;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){.husk-graph{--ground:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--box:#161b22;--line:#768390;--group:#58a6ff12;
--added:#56d364;--changed:#e3b341;--removed:#ff7b72}}
.husk-graph text{fill:var(--ink);font-size:13px}
.husk-graph .title{font-size:16px;font-weight:600}
.husk-graph .kind,.husk-graph .label{fill:var(--soft);font-size:11px}
.husk-graph .label{paint-order:stroke;stroke:var(--ground);stroke-width:4px;text-anchor:middle}
.husk-graph .note{font-weight:600}
.husk-graph rect{stroke:var(--line);stroke-width:1}
.husk-graph .ground{fill:var(--ground);stroke:none}
.husk-graph .node rect{fill:var(--box)}
.husk-graph .cluster>rect{fill:var(--group);stroke-dasharray:4 3}
.husk-graph .node .name{font-weight:600}
.husk-graph .edge path{fill:none;stroke:var(--line);stroke-width:1.2}
.husk-graph .dashed path{stroke-dasharray:5 4}
.husk-graph .edge:hover path{stroke:var(--ink);stroke-width:2.4}
.husk-graph .tip{fill:var(--line)}
.husk-graph .added>rect{stroke:var(--added);stroke-width:2}.husk-graph .added .note{fill:var(--added)}
.husk-graph .changed>rect{stroke:var(--changed);stroke-width:2}.husk-graph .changed .note{fill:var(--changed)}
.husk-graph .removed>rect{stroke:var(--removed);stroke-width:2}.husk-graph .removed .note{fill:var(--removed)}
.husk-graph .faint>rect{stroke-dasharray:2 3}
`

const (
	titleSize = 16.0
	nameSize  = 13.0
	kindSize  = 11.0
)

// nodeWidth returns the width of a box for its text.
func nodeWidth(n Node) float64 {
	second := textWidth(cut(n.Kind), kindSize)
	if n.Note != "" {
		second += 6 + textWidth(n.Note, kindSize)
	}
	return max(leastWidth, textWidth(cut(n.Name), nameSize), second) + 2*nodePadding
}

// textWidth returns about the width of text in a sans-serif font. Wide characters, such as Chinese ones, have
// the width of their height.
func textWidth(text string, size float64) float64 {
	width := 0.0
	for _, r := range text {
		switch {
		case r >= 0x1100:
			width += 1.05
		case strings.ContainsRune("mwMWQ@%", r):
			width += 0.95
		case r >= 'A' && r <= 'Z':
			width += 0.72
		case strings.ContainsRune("iljtfr.,:;|!'()[] ", r):
			width += 0.42
		default:
			width += 0.63
		}
	}
	return width * size
}

// longestText is the length of a name or kind in characters, beyond which its middle is left out.
const longestText = 40

func cut(text string) string { return cutTo(text, longestText) }

// cutTo leaves out the middle of a long text: names often differ at their ends.
func cutTo(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most/2]) + "…" + string(runes[len(runes)-(most-most/2-1):])
}

func number(f float64) string {
	text := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0")
}

// escape returns text for XML, without the characters that it cannot have.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
}
