// Command call measures what a call of a provider costs: Check and Diff by the same
// provider code in the calling program, as a WebAssembly module through the host, and as a
// process of its own behind Pulumi's gRPC service. They run in turn within one run.
//
// The calls are the ones of an update without changes: Check of the program's inputs, and Diff of the result with the recorded
// state. Of each bag of properties the code looks at three.
//
//	go run -C bench ./call [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/figures"
)

func main() {
	rounds := flag.Int("n", 40, "rounds; each runs every variant in turn")
	figures.Main("call", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

// Goals, as factors: how much faster than a process a module is to be.
const (
	smallGoal      = 2
	nestedGoal     = 1
	declaredGoal   = 10
	throughputGoal = 2
)

func measure(ctx context.Context, rounds int) (all []figures.Figure, err error) {
	v, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close(ctx)) }()
	for _, b := range bareengine.Bags() {
		measured, err := latency(ctx, v, b, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		all = append(all, measured...)
	}
	for _, callers := range []int{1, 2, 8} {
		measured, err := throughput(ctx, v, callers, max(rounds/4, 1))
		if err != nil {
			return nil, fmt.Errorf("%d callers: %w", callers, err)
		}
		all = append(all, measured...)
	}
	return all, nil
}
