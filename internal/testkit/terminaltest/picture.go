//go:build linux

package terminaltest

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a picture, in pixels. A cell fits the usual monospaced fonts at 14 pixels.
const (
	cellWidth, cellHeight = 8.43, 19
	margin                = 16
)

// palette has the colors of a picture by the number of the terminal's color. Others are shown as the default.
var palette = map[int]string{
	1: "#f47067", 9: "#f47067", // red
	2: "#6bc46d", 10: "#6bc46d", // green
	3: "#daaa3f", 11: "#daaa3f", // yellow
	4: "#539bf5", 12: "#539bf5", // blue
	5: "#b083f0", 13: "#b083f0", // magenta
	6: "#39c5cf", 14: "#39c5cf", // cyan
	8: "#768390", 15: "#ffffff", // grey, white
}

// Picture returns the screen as an SVG document. The title describes it to readers who cannot see it.
func (x *Terminal) Picture(title string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	lines := strings.Split(x.shown.text(), "\n")
	var b strings.Builder
	width, height := float64(x.shown.columns)*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" role="img">`, width, height)
	fmt.Fprintf(&b, "\n<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#22272e"/>` + "\n")
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d1d7e0" xml:space="preserve">` + "\n")
	for y := range lines {
		pictureLine(&b, y, x.shown.rows[y])
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// pictureLine writes the cells of a line, each run of one color in its own place, so that a font of another width moves
// nothing.
func pictureLine(b *strings.Builder, y int, row []cell) {
	for from := 0; from < len(row); {
		color, run := row[from].color, []rune{}
		for to := from; to < len(row) && row[to].color == color; to++ {
			run = append(run, row[to].char)
		}
		text := strings.TrimLeft(string(run), " ")
		at := from + len(run) - len([]rune(text))
		from += len(run)
		if text = strings.TrimRight(text, " "); text == "" {
			continue
		}
		fill := ""
		if c, ok := palette[color]; ok {
			fill = fmt.Sprintf(` fill="%s"`, c)
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d"%s>%s</text>`+"\n",
			margin+float64(at)*cellWidth, margin+(y+1)*cellHeight-5, fill, html.EscapeString(text))
	}
}
