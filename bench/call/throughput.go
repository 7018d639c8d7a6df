package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/figures"
)

// many is how many pairs of calls all callers make together in one turn of a variant.
const many = 800

func throughput(ctx context.Context, v *variants, callers, rounds int) ([]figures.Figure, error) {
	each := v.each()
	rates, used := make([][]float64, len(each)), make([]time.Duration, len(each))
	for round := range rounds + 1 {
		for i, of := range each {
			before := v.processor()
			took, err := together(ctx, of, callers)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				rates[i] = append(rates[i], 2*many/took.Seconds())
				used[i] += v.processor() - before
			}
		}
	}
	var rows []figures.Figure
	name := func(of string) string { return fmt.Sprintf("1 KB, callers: %d, %s", callers, of) }
	for i, of := range each {
		rows = append(rows,
			figures.Of(name(of.name), figures.Median(rates[i]), "calls/s", 0),
			figures.Of(name(of.name)+", processor time of a call", figures.Micros(used[i])/float64(2*many*rounds), "µs", 0))
	}
	goal := 0.0
	if callers == 8 {
		goal = throughputGoal
	}
	return append(rows, figures.AtLeast(name("wasm to gRPC"), figures.Median(rates[1])/figures.Median(rates[2]), "x", goal)), nil
}

func together(ctx context.Context, of variant, callers int) (time.Duration, error) {
	questions := make([]*bareengine.Questions, callers)
	errs := make([]error, callers)
	for i := range questions {
		questions[i] = bareengine.Small().Questions(of.kind)
	}
	var wait sync.WaitGroup
	start := time.Now()
	for i, q := range questions {
		wait.Go(func() {
			for range many / callers {
				if _, _, errs[i] = q.Ask(ctx, of.provider); errs[i] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return took, nil
}
