package display

import (
	"cmp"
	"errors"
	"os"
	"slices"
)

// Style colours text, or leaves it as it is.
type Style struct {
	// Colour reports whether ANSI colours are understood and wanted.
	Colour bool
}

// Colours are the times when there are colours: see [Output.SetColour].
var Colours = []string{"always", "never", "auto"}

// SetColour says when the output has colours: always, never, or as the environment and the output suggest (auto, or
// nothing).
func (o *Output) SetColour(when string) error {
	if when == "" || slices.Contains(Colours, when) {
		o.colour = when
		return nil
	}
	return errors.New("must be always, never, or auto")
}

// Style returns the style for the output. Unless [Output.SetColour] decides, NO_COLOR means none
// (https://no-color.org), CLICOLOR_FORCE (https://bixense.com/clicolors) and FORCE_COLOR (https://force-color.org) mean
// colours, and else a terminal that is not dumb has them.
func (o *Output) Style() Style {
	force := cmp.Or(os.Getenv("CLICOLOR_FORCE"), os.Getenv("FORCE_COLOR"))
	switch {
	case o.colour == "always":
		return Style{Colour: true}
	case o.colour == "never", os.Getenv("NO_COLOR") != "":
		return Style{}
	case force != "" && force != "0":
		return Style{Colour: true}
	}
	return Style{Colour: o.IsTerminal() && os.Getenv("TERM") != "dumb"}
}

// The ANSI codes (SGR) of the colours, which follow the terminal's own palette.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s Style) paint(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) good(text string) string    { return s.paint(green, text) }
func (s Style) bad(text string) string     { return s.paint(red, text) }
func (s Style) warning(text string) string { return s.paint(yellow, text) }
func (s Style) note(text string) string    { return s.paint(cyan, text) }
func (s Style) faint(text string) string   { return s.paint(dim, text) }

// Faint makes text recede.
func (s Style) Faint(text string) string { return s.faint(text) }

// Good marks a success.
func (s Style) Good(text string) string { return s.good(text) }

// Bad marks an error, and Warning a warning.
func (s Style) Bad(text string) string { return s.bad(text) }

// Warning marks a warning.
func (s Style) Warning(text string) string { return s.warning(text) }

// Strong makes text stand out.
func (s Style) Strong(text string) string { return s.paint(bold, text) }
