package display

import (
	"errors"
	"io"
	"strings"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/source"
)

// renderer is an error that shows itself in more than one line, such as a
// problem in a file with the line it is about.
type renderer interface {
	error
	Render(w io.Writer) error
}

// render returns the text of one failure and its severity.
func render(err error) (text, severity string) {
	if errors.Is(err, engine.ErrStopped) {
		return "stopped early; completed steps are recorded, and the next run continues from there", "error"
	}
	severity = source.Error.String()
	if d, ok := err.(source.Diagnostic); ok {
		severity = d.Severity.String()
	}
	if r, ok := err.(renderer); ok {
		var b strings.Builder
		_ = r.Render(&b) // a strings.Builder takes everything
		return strings.TrimRight(b.String(), "\n"), severity
	}
	return err.Error(), severity
}

// WriteErrors shows an error to people, each of its parts once, further lines
// indented.
func WriteErrors(out io.Writer, style Style, err error) {
	for _, f := range failures(err) {
		writeError(out, style, f)
	}
}

func writeError(out io.Writer, style Style, err error) (told string) {
	told, severity := render(err)
	text := strings.TrimPrefix(told, severity+": ")
	label := style.bad(severity + ":")
	if severity == source.Warning.String() {
		label = style.warning(severity + ":")
	}
	indent := "  "
	if _, ok := err.(renderer); ok {
		indent = "" // it has its own
	}
	var b strings.Builder
	b.WriteString(label + " ")
	for i, line := range strings.Split(EscapeLines(text), "\n") {
		if i > 0 {
			line = strings.TrimRight(indent+line, " ")
		}
		b.WriteString(line + "\n")
	}
	_, _ = io.WriteString(out, b.String()) // there is nowhere left to complain
	return told
}
