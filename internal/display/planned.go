package display

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// PlannedStep is the change of a resource in a saved plan.
type PlannedStep struct {
	URN urn.URN   `json:"urn"`
	Op  engine.Op `json:"op"`
	// Inputs are the program's inputs, with secrets masked; nil for a deletion.
	Inputs map[string]any `json:"inputs,omitempty"`
}

// PlannedSteps returns the changes of a plan by URN, with deletions and replacements at the end.
func PlannedSteps(p *engine.Plan) []PlannedStep {
	var steps []PlannedStep
	for u, r := range p.Resources {
		op := strongest(r.Steps)
		if quiet(op) || engine.IsDefaultProvider(u) {
			continue // previews leave out default providers, too
		}
		step := PlannedStep{URN: u, Op: op}
		if r.Goal != nil && op != engine.OpDelete {
			step.Inputs = engine.DisplayOutputs(r.Goal.Inputs)
		}
		steps = append(steps, step)
	}
	rank := func(s PlannedStep) int { return slices.Index([]engine.Op{engine.OpReplace, engine.OpDelete}, s.Op) }
	sorted.By(steps, func(a, b PlannedStep) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(string(a.URN), string(b.URN)))
	})
	return steps
}

// strongest returns the operation that the steps of a resource make together.
func strongest(steps []engine.Op) engine.Op {
	for _, op := range []engine.Op{engine.OpReplace, engine.OpCreateReplacement, engine.OpReadReplacement} {
		if slices.Contains(steps, op) {
			return engine.OpReplace
		}
	}
	if i := slices.IndexFunc(steps, func(op engine.Op) bool { return !quiet(op) }); i >= 0 {
		return steps[i]
	}
	return engine.OpSame
}

// WritePlan shows a saved plan to people.
func WritePlan(out *Output, p *engine.Plan) error {
	style := out.Style()
	var b strings.Builder
	b.WriteString(style.Strong("Plan of "+Escape(p.Project+"/"+p.Stack)) + "\n")
	counts := map[string]int{}
	var kinds []string
	for _, s := range PlannedSteps(p) {
		words := wordsOf(s.Op, false)
		b.WriteString("  " + words.paint(style, fmt.Sprintf("%-2s ", words.symbol)) + pad(subject(s.URN.Type(), s.URN.Name())) + " " +
			words.paint(style, words.planned) + "\n")
		if len(s.Inputs) > 0 {
			for line := range strings.Lines(strings.Trim(values(style, s.Inputs), "\n")) {
				b.WriteString("      " + line)
			}
			b.WriteByte('\n')
		}
		if counts[words.planned]++; counts[words.planned] == 1 {
			kinds = append(kinds, words.planned)
		}
	}
	if len(kinds) == 0 {
		b.WriteString("\nNothing would change.\n")
	} else {
		for i, kind := range kinds {
			kinds[i] = fmt.Sprintf("%d to %s", counts[kind], kind)
		}
		b.WriteString("\n" + strings.Join(kinds, ", ") + ".\n")
	}
	_, err := out.Write([]byte(b.String()))
	return err
}
