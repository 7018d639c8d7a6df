package display

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// timings collects the cost of a deployment's steps and provider calls.
type timings struct {
	steps     []timedStep
	providers []engine.ProviderCosts
}

// timedStep is a step that has ended, with the time of its provider calls.
type timedStep struct {
	step  engine.StepInfo
	took  time.Duration
	calls time.Duration
}

// slowestSteps bounds the steps that are shown.
const slowestSteps = 10

func (t *timings) note(e engine.Event) {
	switch e := e.(type) {
	case engine.StepDone:
		t.step(e.Step, e.DurationMs, e.Cost)
	case engine.StepFailed:
		t.step(e.Step, e.DurationMs, e.Cost)
	case engine.ProviderCosts:
		t.providers = append(t.providers, e)
	}
}

// step records a step. Its time includes the calls that decided on it.
func (t *timings) step(s engine.StepInfo, durationMs int64, cost *engine.StepCost) {
	if s.DefaultProvider {
		return
	}
	done := timedStep{step: s, took: time.Duration(durationMs) * time.Millisecond}
	if cost != nil {
		done.calls = time.Duration(cost.Microseconds) * time.Microsecond
	}
	done.took = max(done.took, done.calls)
	t.steps = append(t.steps, done)
}

// show returns the calls of each provider, and the slowest steps.
func (t *timings) show(style Style) string {
	var b strings.Builder
	if len(t.providers) > 0 {
		b.WriteString("\n" + style.Strong("Provider calls") + "\n")
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  PROVIDER\tMETHOD\tCALLS\tBY SCHEMA\tFAILED\tTIME\tLONGEST\tFUEL\tSENT\tRECEIVED")
		for _, p := range t.providers {
			for _, m := range p.Methods {
				fmt.Fprintf(w, "  %s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", providerName(p), m.Method, m.Calls, number(m.BySchema), m.Failures,
					brief(m.Microseconds), brief(m.LongestMicroseconds), amount(m.Fuel, ""), amount(m.BytesIn, "B"), amount(m.BytesOut, "B"))
			}
		}
		_ = w.Flush() // a strings.Builder takes everything
	}
	steps := slices.Clone(t.steps)
	sorted.By(steps, func(a, b timedStep) int { return cmp.Compare(b.took, a.took) })
	if steps = steps[:min(len(steps), slowestSteps)]; len(steps) > 0 {
		b.WriteString("\n" + style.Strong("Slowest steps") + "\n")
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  RESOURCE\tSTEP\tTIME\tIN ITS PROVIDER")
		for _, s := range steps {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", subject(s.step.Resource, s.step.Name), s.step.Op, brief(s.took.Microseconds()), brief(s.calls.Microseconds()))
		}
		_ = w.Flush()
	}
	return b.String()
}

// providerName returns the package of a provider, with the provider's name unless that is default.
func providerName(p engine.ProviderCosts) string {
	if name := p.URN.Name(); p.URN != "" && name != "default" {
		return Escape(p.Package + " " + name)
	}
	return Escape(p.Package)
}

// brief returns a time with three digits.
func brief(microseconds int64) string {
	switch d := time.Duration(microseconds) * time.Microsecond; {
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}

// number returns a number, empty for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// amount returns a number with a suffix for thousands, empty for 0.
func amount(n uint64, unit string) string {
	if n == 0 {
		return ""
	}
	value, at := float64(n), 0
	for value >= 1000 && at < len("kMGT") {
		value, at = value/1000, at+1
	}
	if at == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%.1f%s%s", value, "kMGT"[at-1:at], unit)
}
