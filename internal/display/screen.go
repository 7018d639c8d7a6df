package display

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen writes lines that stay and, on a terminal, a few live lines below them, which it redraws in
// place. It is not safe for concurrent use.
type screen struct {
	out io.Writer
	// size returns the terminal's columns and rows; nil without live lines.
	size  func() (columns, rows int)
	drawn int // live lines on the terminal
}

// maxLiveLines bounds the live lines. With more, lines that stay scroll away too fast to be read.
const maxLiveLines = 12

// newScreen returns a screen on an output, with live lines if it is a terminal that
// understands the commands for them.
func newScreen(out *Output) *screen {
	s := &screen{out: out}
	if out.IsTerminal() && os.Getenv("TERM") != "dumb" && enableCommands(out.File()) {
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

// The terminal commands (ECMA-48) that live lines need.
const (
	clearBelow  = "\x1b[J"
	wrapOff     = "\x1b[?7l" // a line that is too long is cut, whatever widths its characters have
	wrapOn      = "\x1b[?7h"
	cursorUpFmt = "\r\x1b[%dA"
)

// print writes text, which ends with a line end, above the live lines.
func (s *screen) print(text string, live []string) {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, cursorUpFmt+clearBelow, s.drawn)
		s.drawn = 0
	}
	b.WriteString(text)
	s.draw(&b, live)
	_, _ = io.WriteString(s.out, b.String()) // OnGone handles a reader that went away
}

// refresh draws the live lines again.
func (s *screen) refresh(live []string) {
	if s.size != nil && (s.drawn > 0 || len(live) > 0) {
		s.print("", live)
	}
}

func (s *screen) draw(b *strings.Builder, live []string) {
	if s.size == nil || len(live) == 0 {
		return
	}
	_, rows := s.size()
	if most := max(1, min(maxLiveLines, rows-2)); len(live) > most {
		more := len(live) - most + 1
		live = append(live[:most-1:most-1], fmt.Sprintf("  … and %d more", more))
	}
	b.WriteString(wrapOff)
	for _, line := range live {
		b.WriteString(line + "\n")
	}
	b.WriteString(wrapOn)
	s.drawn = len(live)
}
