package conformance

import (
	"fmt"
	"io"
	"strings"
)

// Text has the options of a report for people.
type Text struct {
	// Good, Bad, and Faint colour text; nil for no colour.
	Good, Bad, Faint func(string) string
	// Escape makes text of the provider safe to show; nil for no change.
	Escape func(string) string
	// All also lists the checks that succeeded or do not apply.
	All bool
	// Rerun and Allow return how to repeat a failed check and allow an untested one; nil for no advice.
	Rerun, Allow func(Result) string
}

// WriteText writes the report for people: subjects, reasons of skipped checks, and failures.
func (r *Report) WriteText(w io.Writer, t Text) error {
	b := &strings.Builder{}
	b.WriteString(apply(t.Escape, r.Name+" "+r.Version))
	if r.SDK != "" {
		fmt.Fprintf(b, " (%s)", apply(t.Escape, r.SDK))
	}
	fmt.Fprintf(b, ", seed %d\n\n", r.Seed)
	for i := 0; i < len(r.Results); {
		end := i
		for end < len(r.Results) && r.Results[end].Subject == r.Results[i].Subject {
			end++
		}
		t.subject(b, r.Results[i:end])
		i = end
	}
	t.failures(b, r.Failures())
	fmt.Fprintf(b, "%d checks ok, %s, %d skipped, %d not applicable\n",
		r.Count(OK), t.failedCount(r.Count(Failed)), r.Count(Skipped), r.Count(NotApplicable))
	_, err := io.WriteString(w, b.String())
	return err
}

func apply(f func(string) string, text string) string {
	if f == nil {
		return text
	}
	return f(text)
}

func (t Text) failedCount(n int) string {
	text := fmt.Sprintf("%d failed", n)
	if n == 0 {
		return text
	}
	return apply(t.Bad, text)
}

// subject writes the results of one subject, a line for each reason of skipped checks.
func (t Text) subject(b *strings.Builder, results []Result) {
	ok, applicable, tried := 0, 0, 0
	for _, r := range results {
		if r.Status == OK {
			ok++
		}
		if r.Status != NotApplicable {
			applicable++
		}
		tried += r.Tried
	}
	fmt.Fprintf(b, "%s: %d of %d checks ok, in %d trials\n", apply(t.Escape, results[0].Subject), ok, applicable, tried)
	var reasons []string
	skipped := map[string][]string{}
	for _, r := range results {
		switch {
		case r.Status == Failed:
			fmt.Fprintf(b, "  %s %s\n", apply(t.Bad, "failed "), r.Check)
		case r.Status == Skipped, r.Status == NotApplicable && t.All:
			if len(skipped[r.Message]) == 0 {
				reasons = append(reasons, r.Message)
			}
			skipped[r.Message] = append(skipped[r.Message], r.Check)
		case t.All:
			fmt.Fprintf(b, "  %s %s: %s\n", apply(t.Good, "ok     "), r.Check, r.Rule)
		}
	}
	for _, reason := range reasons {
		names := strings.Join(skipped[reason], ", ")
		if n := len(skipped[reason]); n > maxListed {
			names = fmt.Sprintf("%d checks", n)
		}
		fmt.Fprintf(b, "  %s %s: %s\n", apply(t.Faint, "skipped"), names, apply(t.Faint, apply(t.Escape, reason)))
	}
	b.WriteByte('\n')
}

// failures writes what failed, with the case that shows it.
func (t Text) failures(b *strings.Builder, failed []Result) {
	for _, r := range failed {
		fmt.Fprintf(b, "%s: %s of %s\n  the rule: %s\n  found: %s\n", apply(t.Bad, "failed"), r.Check, apply(t.Escape, r.Subject), r.Rule, apply(t.Escape, r.Message))
		if r.Case != nil {
			fmt.Fprintf(b, "  with: %s (%s)\n", r.Case.Inputs, r.Case.Name)
		}
		if t.Rerun != nil {
			fmt.Fprintf(b, "  again: %s\n", t.Rerun(r))
		}
		if t.Allow != nil && r.Untested {
			fmt.Fprintf(b, "  to do without: %s\n", apply(t.Escape, t.Allow(r)))
		}
		b.WriteByte('\n')
	}
}
