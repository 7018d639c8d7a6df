package display

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine"
)

// because says in few words why a step is taken: its reason, or the top-level
// properties that differ.
func because(s engine.StepInfo) string {
	var names []string
	for _, c := range s.Diff {
		name := c.Path
		if i := strings.IndexAny(name, ".["); i > 0 {
			name = name[:i]
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0:
		return "[" + Escape(strings.Join(names, ", ")) + "]"
	case s.Reason != "":
		return "since " + Escape(s.Reason)
	default:
		return ""
	}
}

// differences shows each property that differs on a line of its own.
func differences(style Style, s engine.StepInfo) string {
	var b strings.Builder
	for _, c := range slices.Concat(s.Diff, s.Inputs) {
		old, new := Escape(c.Old), Escape(c.New)
		var line string
		switch c.Kind {
		case "add":
			line = style.good("+ " + Escape(c.Path) + ": " + new)
		case "delete":
			line = style.bad("- " + Escape(c.Path) + ": " + old)
		default:
			line = style.warning("~ "+Escape(c.Path)+": ") + old + " => " + new
		}
		if c.Replaces {
			line += style.note("  (forces replacement)")
		}
		b.WriteString("        " + line + "\n")
	}
	return b.String()
}
