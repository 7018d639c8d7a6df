package display

import "github.com/husk-dev/husk/conformance"

// WriteReport shows the report of a conformance test. rerun returns the command that repeats a failed
// check, allow the flag that accepts an untested subject.
func WriteReport(out *Output, report *conformance.Report, all bool, rerun, allow func(conformance.Result) string) error {
	style := out.Style()
	return report.WriteText(out, conformance.Text{
		Good: style.good, Bad: style.bad, Faint: style.faint, Escape: Escape, All: all, Rerun: rerun, Allow: allow,
	})
}
