package display

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

func (t *Text) showCorrection(e engine.PolicyRemediated) {
	style := t.style
	line := "  " + style.note("~  ") + pad(policySubject(e.URN)) + " " + style.note("corrected by "+Escape(e.Policy))
	if e.Message != "" {
		line += ": " + Escape(e.Message)
	}
	line += " " + style.faint(Escape(e.Pack+" "+e.Version)) + "\n"
	if t.options.Diff {
		line += differences(style, engine.StepInfo{Op: engine.OpUpdate, Diff: e.Changes})
	}
	t.tell(strings.TrimRight(line, "\n") + "\n")
}

// showViolation shows a violation. The message of a mandatory one is among the errors at the end.
func (t *Text) showViolation(e engine.PolicyViolated) {
	style := t.style
	if e.Level == "mandatory" {
		t.tell("  " + style.bad("!  "+pad(policySubject(e.URN))+" violates "+Escape(e.Policy)) + "\n")
		return
	}
	message := Escape(e.Message)
	if e.Path != "" {
		message = Escape(e.Path) + ": " + message
	}
	t.tell("  " + style.warning("advice: ") + style.Strong(policySubject(e.URN)) + ": " + message + " " +
		style.faint("("+Escape(e.Policy+" of "+e.Pack+" "+e.Version)+")") + "\n")
}

// policySubject names the resource that a policy has checked.
func policySubject(u urn.URN) string {
	if u == "" {
		return "the stack"
	}
	return subject(u.Type(), u.Name())
}

// policies returns a line with the packs and their findings.
func (t *Text) policies(c *engine.PolicyCounts) string {
	if c == nil {
		return ""
	}
	var names, found []string
	for _, p := range t.packs {
		names = append(names, Escape(p.Name+" "+p.Version))
	}
	add := func(n int, one, more string) {
		if n == 1 {
			found = append(found, "1 "+one)
		} else if n > 1 {
			found = append(found, fmt.Sprintf("%d %s", n, more))
		}
	}
	add(c.Mandatory, "violation", "violations")
	add(c.Advisory, "advisory violation", "advisory violations")
	add(c.Remediated, "correction", "corrections")
	if len(found) == 0 {
		found = []string{"no violations"}
	}
	return "Policies of " + strings.Join(names, ", ") + ": " + strings.Join(found, ", ") + ".\n"
}
