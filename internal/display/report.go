package display

import (
	"io"

	"github.com/husk-dev/husk/conformance"
)

// WriteReport shows what a test of a provider found. rerun says how to do a failed
// check again, and allow how to do without one that was never seen to work.
func WriteReport(out io.Writer, style Style, report *conformance.Report, all bool, rerun, allow func(conformance.Result) string) error {
	return report.WriteText(out, conformance.Text{
		Good: style.good, Bad: style.bad, Faint: style.faint, Escape: Escape, All: all, Rerun: rerun, Allow: allow,
	})
}
