//go:build unix

package terminaltest

import (
	"fmt"
	"html"
	"strings"

	"github.com/hinshun/vt10x"
)

// Sizes of a picture, in pixels. A cell fits the usual monospaced fonts at 14 pixels.
const (
	cellWidth, cellHeight = 8.43, 19
	margin                = 16
)

// palette has the colors of a picture by the number of the terminal's color. Others are shown as the default.
var palette = map[vt10x.Color]string{
	vt10x.Red: "#f47067", vt10x.LightRed: "#f47067",
	vt10x.Green: "#6bc46d", vt10x.LightGreen: "#6bc46d",
	vt10x.Yellow: "#daaa3f", vt10x.LightYellow: "#daaa3f",
	vt10x.Blue: "#539bf5", vt10x.LightBlue: "#539bf5",
	vt10x.Magenta: "#b083f0", vt10x.LightMagenta: "#b083f0",
	vt10x.Cyan: "#39c5cf", vt10x.LightCyan: "#39c5cf",
	vt10x.DarkGrey: "#768390", vt10x.White: "#ffffff",
}

// Picture returns the screen as an SVG document. The title describes it to readers who cannot see it.
func (x *Terminal) Picture(title string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	columns, _ := x.emulator.Size()
	lines := strings.Split(x.screen(), "\n")
	var b strings.Builder
	width, height := float64(columns)*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" role="img">`, width, height)
	fmt.Fprintf(&b, "\n<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#22272e"/>` + "\n")
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d1d7e0" xml:space="preserve">` + "\n")
	for y := range lines {
		x.pictureLine(&b, y, columns)
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// pictureLine writes the cells of a line, each run of one color in its own place, so that a font of another width moves
// nothing.
func (x *Terminal) pictureLine(b *strings.Builder, y, columns int) {
	for from := 0; from < columns; {
		color, run := x.emulator.Cell(from, y).FG, []rune{}
		for to := from; to < columns && x.emulator.Cell(to, y).FG == color; to++ {
			run = append(run, x.emulator.Cell(to, y).Char)
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
