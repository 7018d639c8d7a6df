package display

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// screen writes lines that stay and, on a terminal, a few live lines below them, which it redraws in
// place. It is not safe for concurrent use.
type screen struct {
	out io.Writer
	// size returns the terminal's columns and rows; nil without live lines.
	size func() (columns, rows int)
	// wraps is set if the terminal wraps lines anew when it becomes narrower.
	wraps bool
	// drawn are the widths of the live lines on the terminal.
	drawn []int
}

// The least and the greatest bound of the live lines, which are half of a terminal between them. With more, lines that
// stay scroll away too fast to be read.
const (
	leastLive    = 12
	greatestLive = 30
)

// mostLive returns how many live lines a terminal with so many rows has at most.
func mostLive(rows int) int { return max(1, min(rows-2, max(leastLive, min(greatestLive, rows/2)))) }

// newScreen returns a screen on an output, with live lines if it is a terminal that
// understands the commands for them.
func newScreen(out *Output) *screen {
	s := &screen{out: out}
	if out.IsTerminal() && drawsLive() && enableCommands(out.File()) {
		s.wraps = wrapsAnew()
		s.size = func() (int, int) {
			columns, rows, err := term.GetSize(int(out.File().Fd()))
			if err != nil || columns < 1 || rows < 1 {
				return 80, 24
			}
			return columns, rows
		}
	}
	return s
}

// drawsLive reports whether the environment allows live lines: services that collect the output of a terminal set CI, and
// would show each drawing.
func drawsLive() bool {
	ci := os.Getenv("CI")
	return os.Getenv("TERM") != "dumb" && (ci == "" || ci == "0" || strings.EqualFold(ci, "false"))
}

// wrapsAnew reports whether the terminal wraps lines anew when it becomes narrower, as nearly all do but xterm, the
// Linux console, and screen.
func wrapsAnew() bool {
	name := os.Getenv("TERM")
	return os.Getenv("XTERM_VERSION") == "" && name != "linux" && (os.Getenv("STY") == "" || os.Getenv("TMUX") != "")
}

// The terminal commands (ECMA-48) that live lines need.
const (
	clearBelow  = "\x1b[J"
	wrapOff     = "\x1b[?7l" // a line that is too long is cut, whatever widths its characters have
	wrapOn      = "\x1b[?7h"
	cursorUpFmt = "\r\x1b[%dA"
	// begin and end a drawing that terminals show at once; other terminals ignore it.
	beginUpdate = "\x1b[?2026h"
	endUpdate   = "\x1b[?2026l"
)

// print writes text, which ends with a line end, above the live lines.
func (s *screen) print(text string, live []string) {
	var b strings.Builder
	up := s.height()
	drawing := up > 0 || len(live) > 0
	if drawing {
		b.WriteString(beginUpdate)
	}
	if up > 0 {
		fmt.Fprintf(&b, cursorUpFmt+clearBelow, up)
	}
	b.WriteString(text)
	s.drawn = nil
	s.draw(&b, live)
	if drawing {
		b.WriteString(endUpdate)
	}
	_, _ = io.WriteString(s.out, b.String()) // OnGone handles a reader that went away
}

// height returns the rows that the live lines take now. A terminal that became narrower has wrapped them.
func (s *screen) height() int {
	if !s.wraps || s.size == nil {
		return len(s.drawn)
	}
	columns, _ := s.size()
	rows := 0
	for _, cells := range s.drawn {
		rows += max(1, (cells+columns-1)/columns)
	}
	return rows
}

// refresh draws the live lines again.
func (s *screen) refresh(live []string) {
	if s.size != nil && len(s.drawn)+len(live) > 0 {
		s.print("", live)
	}
}

func (s *screen) draw(b *strings.Builder, live []string) {
	if s.size == nil || len(live) == 0 {
		return
	}
	columns, rows := s.size()
	if most := mostLive(rows); len(live) > most {
		more := len(live) - most + 1
		live = append(live[:most-1:most-1], fmt.Sprintf("  … and %d more", more))
	}
	b.WriteString(wrapOff)
	for _, line := range live {
		b.WriteString(line + "\n")
		s.drawn = append(s.drawn, min(columns, lineWidth(withoutColours(line))))
	}
	b.WriteString(wrapOn)
}

// withoutColours returns text without the commands of [Style].
func withoutColours(text string) string {
	var b strings.Builder
	for {
		before, command, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(command, "m")
	}
}

// lineWidth returns how many cells of a terminal a text without control characters takes.
func lineWidth(text string) int { return uniseg.StringWidth(text) }

// cutLine returns text that takes so many cells at most. It ends with an ellipsis if something is left out.
func cutLine(text string, most int) string {
	if lineWidth(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	cells, rest, state := 0, text, -1
	for {
		cluster, after, width, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if cells += width; cells > most-1 || cluster == "" {
			return text[:len(text)-len(rest)] + "…"
		}
		rest, state = after, next
	}
}

// padLine returns text with spaces up to so many cells.
func padLine(text string, cells int) string {
	return text + strings.Repeat(" ", max(0, cells-lineWidth(text)))
}
