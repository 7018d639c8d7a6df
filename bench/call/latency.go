package main

import (
	"context"
	"time"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/figures"
)

// turn is how long a variant is called in one of its turns at least, so that the clock's resolution
// and the switch between variants do not count.
const turn = 5 * time.Millisecond

// Large bags take long: their rounds end after longest, when there were fewest.
const (
	longest = 10 * time.Second
	fewest  = 5
)

// times are the times of one variant: medians of its calls, and the processor time of a Check and a Diff together.
type times struct{ check, diff, processor time.Duration }

func (t times) both() time.Duration { return t.check + t.diff }

func latency(ctx context.Context, v *variants, b bareengine.Bag, rounds int) ([]figures.Figure, error) {
	each := v.each()
	var checks, diffs = make([][]time.Duration, len(each)), make([][]time.Duration, len(each))
	used, calls := make([]time.Duration, len(each)), make([]int, len(each))
	questions := make([]*bareengine.Questions, len(each))
	for i, of := range each {
		questions[i] = b.Questions(of.kind)
	}
	begin := time.Now()
	for round := 0; round <= rounds && (round <= fewest || time.Since(begin) < longest); round++ {
		for i, of := range each {
			before := v.processor()
			for start := time.Now(); ; {
				check, diff, err := questions[i].Ask(ctx, of.provider)
				if err != nil {
					return nil, err
				}
				if round > 0 { // the first round warms up
					checks[i], diffs[i] = append(checks[i], check), append(diffs[i], diff)
					calls[i]++
				}
				if time.Since(start) > turn {
					break
				}
			}
			if round > 0 {
				used[i] += v.processor() - before
			}
		}
	}
	all := make([]times, len(each))
	for i := range each {
		all[i] = times{figures.Median(checks[i]), figures.Median(diffs[i]), used[i] / time.Duration(calls[i])}
	}
	return report(b.Name, each, all), nil
}

// report are the figures of one bag.
func report(bag string, each []variant, all []times) []figures.Figure {
	var rows []figures.Figure
	for i, of := range each {
		name := bag + ", " + of.name
		rows = append(rows,
			figures.Of(name+", check", figures.Micros(all[i].check), "µs", 0),
			figures.Of(name+", diff", figures.Micros(all[i].diff), "µs", 0),
			figures.Of(name+", check + diff, processor time", figures.Micros(all[i].processor), "µs", 0),
		)
	}
	native, wasm, grpc, declared := all[0].both(), all[1].both(), all[2].both(), all[3].both()
	ratio := func(name string, a, b time.Duration, goal float64) figures.Figure {
		name = bag + ", check + diff, " + name
		return figures.AtLeast(name, float64(a)/float64(b), "x", goal)
	}
	var small, nested, own float64
	switch bag {
	case "1 KB":
		small, own = smallGoal, declaredGoal
	case "100 KB nested":
		nested = nestedGoal
	}
	return append(rows,
		figures.Of(bag+", check + diff, wasm to native", float64(wasm)/float64(native), "x", 0),
		ratio("gRPC to wasm", grpc, wasm, max(small, nested)),
		ratio("gRPC to wasm, declared", grpc, declared, own),
		figures.Of(bag+", check + diff, wasm to native, processor time", float64(all[1].processor)/float64(all[0].processor), "x", 0),
		figures.Of(bag+", check + diff, gRPC to wasm, processor time", float64(all[2].processor)/float64(all[1].processor), "x", 0),
	)
}
