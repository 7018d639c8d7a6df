// Command start measures how long it takes from nothing to the first answered Check: of a
// provider's module, in a new process and in one that hosts the module already, and of the
// same provider as a native process, started as Pulumi starts it. They run in turn within
// one run.
//
// There are two native processes: one made with Pulumi's SDK, as its providers are, and a
// bare one that has the gRPC service and nothing else.
//
//	go run -C bench ./start [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func main() {
	rounds := flag.Int("n", 25, "rounds; each runs every variant in turn, but cold compiles, of which there are five")
	figures.Main("start", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

// colds is how many cold compiles there are. They take a second or more each.
const colds = 5

// Goals: how much faster than a process modules are to be, and in milliseconds how long the
// start in a warm host may take.
const (
	cloneGoal      = 50
	cloneMilliGoal = 0.5
)

// measured are the rounds of one variant.
type measured struct{ wall, processor []time.Duration }

func measure(ctx context.Context, rounds int) (_ []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "start")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := prepare(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	variants := []struct {
		name string
		once func(context.Context) (wall, processor time.Duration, err error)
	}{
		{"native process", p.native},
		{"native process, bare", p.bare},
		{"cold compile", p.cold},
		{"compiled code, no image", p.withoutImage},
		{"compiled code and image", p.withImage},
		{"warm host, another configuration", p.configuration},
		{"warm host, another instance", p.instance},
	}
	const native, bare, cold, image, configuration, instance = 0, 1, 2, 4, 5, 6
	all := make([]measured, len(variants))
	for round := range rounds + 1 {
		for i, v := range variants {
			if i == cold && round > colds {
				continue
			}
			if i >= configuration {
				// The host has waited while others had the processor and its caches.
				if _, _, err := v.once(ctx); err != nil {
					return nil, fmt.Errorf("%s: %w", v.name, err)
				}
			}
			wall, processor, err := v.once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			if round > 0 { // the first round warms up
				all[i].wall, all[i].processor = append(all[i].wall, wall), append(all[i].processor, processor)
			}
		}
	}
	var rows []figures.Figure
	median := make([]time.Duration, len(variants))
	for i, v := range variants {
		median[i] = figures.Median(all[i].wall)
		goal := 0.0
		if i >= configuration {
			goal = cloneMilliGoal
		}
		rows = append(rows,
			figures.Of(v.name, figures.Millis(median[i]), "ms", goal),
			figures.Of(v.name+", processor time", figures.Millis(figures.Median(all[i].processor)), "ms", 0))
	}
	for _, to := range []struct {
		variant int
		goal    float64
	}{{image, 0}, {configuration, cloneGoal}, {instance, cloneGoal}} {
		name, took := variants[to.variant].name, float64(median[to.variant])
		rows = append(rows,
			figures.AtLeast("native process to "+name, float64(median[native])/took, "x", to.goal),
			figures.AtLeast("native process, bare, to "+name, float64(median[bare])/took, "x", 0))
	}
	return rows, nil
}
