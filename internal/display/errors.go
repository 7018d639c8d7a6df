package display

import (
	"errors"
	"io"
	"strings"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/source"
)

// renderer is an error of several lines, such as a diagnostic with its line of the file.
type renderer interface {
	error
	Render(w io.Writer) error
}

// StoppedBefore is [engine.ErrStopped] of a run that had changed nothing, such as a preview.
type StoppedBefore struct{}

func (StoppedBefore) Error() string { return "stopped early; nothing was changed" }

func (StoppedBefore) Unwrap() error { return engine.ErrStopped }

// render returns the text of one failure and its severity.
func render(err error) (text, severity string) {
	if _, before := err.(StoppedBefore); !before && errors.Is(err, engine.ErrStopped) {
		return "stopped early; completed steps are recorded, and the next run continues from there", "error"
	}
	severity = source.Error.String()
	if d, ok := err.(source.Diagnostic); ok {
		severity = d.Severity.String()
		d.Severity = source.Error // the label says it
		err = d
	}
	if r, ok := err.(renderer); ok {
		var b strings.Builder
		_ = r.Render(&b) // a strings.Builder takes everything
		return strings.TrimRight(b.String(), "\n"), severity
	}
	return err.Error(), severity
}

// WriteErrors shows an error to people, each of its parts once, further lines indented.
func WriteErrors(out *Output, err error) {
	for _, f := range failures(err) {
		writeError(out, f)
	}
}

func writeError(out *Output, err error) (told string) {
	told, severity := render(err)
	text, style := strings.TrimPrefix(told, severity+": "), out.Style()
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
	_, _ = io.WriteString(out, b.String()) // OnGone handles a reader that went away
	return told
}
