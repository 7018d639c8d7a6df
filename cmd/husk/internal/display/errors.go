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
		return "stopped before everything was done; what was done is recorded, and the next run goes on from there", "error"
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
		text, severity := render(f)
		writeError(out, style, text, severity)
	}
}

func writeError(out io.Writer, style Style, text, severity string) {
	text = strings.TrimPrefix(text, severity+": ")
	first, rest, more := strings.Cut(escapeLines(text), "\n")
	label := style.bad(severity + ":")
	if severity == source.Warning.String() {
		label = style.warning(severity + ":")
	}
	var b strings.Builder
	b.WriteString(label + " " + first + "\n")
	if more {
		for line := range strings.SplitSeq(rest, "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
	}
	_, _ = io.WriteString(out, b.String()) // there is nowhere left to complain
}
