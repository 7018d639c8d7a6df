package timeline

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/display"
)

// The measures of a chart, in pixels.
const (
	labelWidth = 330.0
	plotWidth  = 720.0
	noteWidth  = 190.0
	rowHeight  = 20.0
	barHeight  = 12.0
	headHeight = 62.0
	footHeight = 16.0
	leastBar   = 2.0
	// longestLabel is in characters; the middle of a longer one is left out.
	longestLabel = 46
)

// SVGOptions say how an SVG is made.
type SVGOptions struct {
	// Embedded leaves out the style, the background, and the fixed size, for a page that has its own [Stylesheet].
	Embedded bool
}

// WriteSVG draws a bar for each step, in the order of their beginnings.
func (t *Timeline) WriteSVG(w io.Writer, o SVGOptions) error {
	rows := t.longest()
	width, height := labelWidth+plotWidth+noteWidth, headHeight+float64(len(rows))*rowHeight+footHeight
	var b strings.Builder
	size := ""
	if !o.Embedded {
		size = fmt.Sprintf(` width="%s" height="%s"`, number(width), number(height))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s"%s class="husk-timeline" role="img" aria-label="%s">`+"\n",
		number(width), number(height), size, escape(t.Title()+": "+t.summary()))
	if !o.Embedded {
		b.WriteString("<style>\n" + Stylesheet + "</style>\n" + `<rect class="ground" width="100%" height="100%"/>` + "\n")
	}
	fmt.Fprintf(&b, `<text class="title" x="14" y="24">%s</text><text class="note" x="%s" y="24">%s</text>`+"\n",
		escape(t.Title()), number(labelWidth), escape(t.summary()))
	scale := t.drawAxis(&b, height)
	place := make(map[int]float64, len(rows)) // the middle of the row of a bar
	for k, i := range rows {
		place[i] = headHeight + (float64(k)+0.5)*rowHeight
	}
	for _, i := range rows {
		t.drawWait(&b, i, place, scale)
	}
	for _, i := range rows {
		t.drawBar(&b, i, place[i], scale)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// summary says in a sentence how it ended.
func (t *Timeline) summary() string {
	text := "running for " + display.Brief(t.Took)
	if t.Result != "" {
		text = t.Result + " after " + display.Brief(t.Took)
	}
	text += fmt.Sprintf(", %d steps", len(t.Bars))
	if t.Unchanged > 0 {
		text += fmt.Sprintf(", %d unchanged", t.Unchanged)
	}
	if left := len(t.Bars) - len(t.longest()); left > 0 {
		text += fmt.Sprintf(" (the %d shortest are left out)", left)
	}
	return text
}

// drawAxis draws the times, and returns the pixels of a time.
func (t *Timeline) drawAxis(b *strings.Builder, height float64) func(time.Duration) float64 {
	whole := max(t.Took, time.Millisecond)
	for _, bar := range t.Bars {
		whole = max(whole, bar.End)
	}
	scale := func(d time.Duration) float64 { return labelWidth + plotWidth*float64(d)/float64(whole) }
	step := tick(whole)
	for at := time.Duration(0); at <= whole; at += step {
		x := number(scale(at))
		fmt.Fprintf(b, `<path class="tick" d="M%s %sV%s"/><text class="time" x="%[1]s" y="%[4]s">%[5]s</text>`+"\n",
			x, number(headHeight-6), number(height-footHeight), number(headHeight-12), escape(moment(at)))
	}
	return scale
}

// tick returns a round time that divides a whole into 4 to 10 parts.
func tick(whole time.Duration) time.Duration {
	for unit := time.Microsecond * 100; ; unit *= 10 {
		for _, factor := range []time.Duration{1, 2, 5} {
			if step := unit * factor; whole/step <= 10 {
				return step
			}
		}
		if unit > math.MaxInt64/100 {
			return whole
		}
	}
}

// moment returns a time since the beginning as short as it can be.
func moment(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return strings.NewReplacer("m0s", "m", "h0m", "h").Replace(d.String())
}

// drawWait draws what a bar waited for: a line from the end of the other bar.
func (t *Timeline) drawWait(b *strings.Builder, i int, place map[int]float64, scale func(time.Duration) float64) {
	bar := t.Bars[i]
	from, ok := place[bar.WaitedFor]
	if !ok {
		return
	}
	class := "wait"
	if bar.Critical && t.Bars[bar.WaitedFor].Critical {
		class += " critical"
	}
	x := scale(t.Bars[bar.WaitedFor].End)
	fmt.Fprintf(b, `<path class="%s" d="M%s %sV%sH%s"/>`+"\n", class, number(x), number(from), number(place[i]), number(max(x, scale(bar.Start))))
}

func (t *Timeline) drawBar(b *strings.Builder, i int, y float64, scale func(time.Duration) float64) {
	bar := t.Bars[i]
	x, class := scale(bar.Start), "bar "+string(bar.Kind)
	width := max(leastBar, scale(bar.End)-x)
	if bar.Error != "" {
		class += " failed"
	}
	if bar.Critical {
		class += " critical"
	}
	note := bar.Did + " " + display.Brief(bar.End-bar.Start)
	if bar.Running {
		note += "…"
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><text class="label" x="14" y="%s">%s</text>`, class, escape(t.about(i)), number(y+4), escape(cut(bar.Subject)))
	fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" rx="2"/>`, number(x), number(y-barHeight/2), number(width), number(barHeight))
	at, anchor := x+width+5, "start"
	if at > labelWidth+plotWidth+noteWidth-float64(len(note))*7 {
		at, anchor = x-5, "end"
	}
	fmt.Fprintf(b, `<text class="did" x="%s" y="%s" text-anchor="%s">%s</text></g>`+"\n", number(at), number(y+4), anchor, escape(note))
}

// about says all about a bar, for a pointer over it.
func (t *Timeline) about(i int) string {
	bar := t.Bars[i]
	text := fmt.Sprintf("%s: %s, from %s to %s", bar.Subject, bar.Did, display.Brief(bar.Start), display.Brief(bar.End))
	if bar.Calls > 0 {
		text += fmt.Sprintf("; %s in %d calls of %s", display.Brief(bar.InProvider), bar.Calls, bar.Provider)
	}
	if bar.WaitedFor >= 0 {
		text += "; waited for " + t.Bars[bar.WaitedFor].Subject
	}
	if bar.Critical {
		text += "; on the critical path"
	}
	if bar.Error != "" {
		text += "; " + display.Escape(bar.Error)
	}
	return text
}

// Stylesheet has the colours and fonts of an SVG, light and dark.
const Stylesheet = `.husk-timeline,.husk-page{--ground:#fff;--ink:#1c2128;--soft:#57606a;--line:#d0d7de;
--create:#2da44e;--update:#bf8700;--delete:#cf222e;--read:#0969da;--action:#8250df;--prepare:#8c959f;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){.husk-timeline,.husk-page{--ground:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--line:#30363d;
--create:#3fb950;--update:#d29922;--delete:#f85149;--read:#58a6ff;--action:#bc8cff;--prepare:#768390}}
.husk-timeline .ground{fill:var(--ground)}
.husk-timeline text{fill:var(--ink);font-size:12px}
.husk-timeline .title{font-size:16px;font-weight:600}
.husk-timeline .note,.husk-timeline .did,.husk-timeline .time{fill:var(--soft)}
.husk-timeline .time{font-size:11px;text-anchor:middle}
.husk-timeline .did{font-size:11px}
.husk-timeline .tick{stroke:var(--line);stroke-width:1}
.husk-timeline .wait{fill:none;stroke:var(--soft);stroke-width:1;stroke-dasharray:2 2;opacity:.7}
.husk-timeline .wait.critical{stroke:var(--ink);stroke-dasharray:none;stroke-width:1.5;opacity:1}
.husk-timeline .bar.critical rect{stroke:var(--ink);stroke-width:1.5}
.husk-timeline .bar.critical .label{font-weight:600}
.husk-timeline .create rect{fill:var(--create)}.husk-timeline .update rect{fill:var(--update)}
.husk-timeline .delete rect,.husk-timeline .failed rect{fill:var(--delete)}.husk-timeline .read rect{fill:var(--read)}
.husk-timeline .action rect{fill:var(--action)}.husk-timeline .prepare rect{fill:var(--prepare)}
.husk-timeline .failed .did,.husk-timeline .failed .label{fill:var(--delete);font-weight:600}
.husk-timeline .bar:hover rect{stroke:var(--ink);stroke-width:2}
`

func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= longestLabel {
		return text
	}
	return string(runes[:longestLabel/2]) + "…" + string(runes[len(runes)-(longestLabel-longestLabel/2-1):])
}

func number(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// escape returns text for HTML and XML.
func escape(text string) string { return html.EscapeString(printable.Line(text)) }
