package display

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// Review keeps the events of a preview, for the question whether to go on. The zero value is ready for use.
type Review struct {
	mu     sync.Mutex
	events []engine.Event
	closed bool
}

// Event keeps an event. Those of an execution are dropped.
func (r *Review) Event(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if started, ok := e.(engine.Started); ok {
		r.closed = !started.DryRun
	}
	if !r.closed {
		r.events = append(r.events, e)
	}
}

// Losses returns a line for each resource that would be deleted or replaced, empty if that is none or all that would be
// done.
func (r *Review) Losses(style Style) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	var seen []urn.URN
	others := false
	for _, e := range r.events {
		done, ok := e.(engine.StepDone)
		if !ok || quiet(done.Step.Op) || done.Step.DefaultProvider {
			continue
		}
		step := done.Step
		switch step.Op {
		case engine.OpDelete:
		case engine.OpReplace, engine.OpCreateReplacement, engine.OpDeleteReplaced:
			step.Op = engine.OpReplace
		default:
			others = true
			continue
		}
		if slices.Contains(seen, step.URN) {
			continue
		}
		seen = append(seen, step.URN)
		words := wordsOf(step.Op, false)
		line := fmt.Sprintf("%-2s ", words.symbol) + pad(subject(step.Resource, step.Name)) + " " + words.planned
		b.WriteString("  " + style.bad(line))
		if why := reasonOf(step); why != "" {
			b.WriteString(" " + style.faint(why))
		}
		b.WriteByte('\n')
	}
	if !others || b.Len() == 0 {
		return ""
	}
	return style.Strong("Will be deleted or replaced:") + "\n" + b.String()
}

// Details shows the preview again, with the differences in each resource.
func (r *Review) Details(out, errs *Output) {
	r.mu.Lock()
	events := slices.Clone(r.events)
	r.mu.Unlock()
	t := newText(&screen{out: out}, errs, Options{Diff: true})
	t.style = out.Style()
	for _, e := range events {
		t.Event(e)
	}
	t.Close(nil)
}
