// Command deployment measures what users wait for: whole processes of the command husk,
// from start to end, that deploy stacks of several sizes with a provider that is a
// WebAssembly module. States are durable, in files, and secrets have the default key;
// modules were compiled before, by an earlier process.
//
// Beside the time that each command takes stands the processor time that it uses, which
// says more on a busy machine. The last figures compare an update without changes with its cost under a free engine: starting the
// provider, and its calls, answered by the host from the schema where that suffices, or by the guest.
//
//	go run -C bench ./deployment [-sizes 1,100,1000,10000] [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func main() {
	sizesFlag := flag.String("sizes", "1,100,1000,10000", "numbers of resources")
	rounds := flag.Int("n", 5, "rounds of each command, for stacks of up to 1,000 resources; larger ones are deployed once")
	figures.Main("deployment", func(ctx context.Context) ([]figures.Figure, error) {
		var sizes []int
		for field := range strings.SplitSeq(*sizesFlag, ",") {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("-sizes %s: must be positive numbers", *sizesFlag)
			}
			sizes = append(sizes, n)
		}
		return measure(ctx, sizes, *rounds)
	})
}

// operations follow each other on one stack.
var operations = []struct {
	name string
	args []string
}{
	{"first up", []string{"up", "--yes"}},
	{"no-op up", []string{"up", "--yes"}},
	{"no-op preview", []string{"preview"}},
	{"refresh", []string{"refresh", "--yes"}},
	{"destroy", []string{"destroy", "--yes"}},
}

// goals are the longest times that are wanted, in seconds.
var goals = map[string]float64{
	"flat, 1000, first up": 0.6,
	"flat, 1000, no-op up": 0.15,
	"chain, 1000, destroy": 0.6,
}

// overheadGoal is how much longer than the calls of the provider and its start an update
// of goalSize resources may take.
const (
	overheadGoal = 1.5
	goalSize     = 1_000
)

// oneRound is the size from which on stacks are deployed once.
const oneRound = 2_000

func measure(ctx context.Context, sizes []int, rounds int) (all []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "deployment")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := build(ctx, dir)
	if err != nil {
		return nil, err
	}
	noop := make(map[int]time.Duration) // by size
	for _, size := range sizes {
		for _, shape := range []shape{flat, chain} {
			each := rounds
			if size >= oneRound {
				each = 1
			}
			taken, err := c.deploy(ctx, shape, size, each)
			if err != nil {
				return nil, fmt.Errorf("%s, %d resources: %w", shape, size, err)
			}
			for i, op := range operations {
				name := fmt.Sprintf("%s, %d, %s", shape, size, op.name)
				all = append(all,
					figures.Of(name, figures.Median(taken[i].wall).Seconds(), "s", goals[name]),
					figures.Of(name+", processor time", figures.Median(taken[i].cpu).Seconds(), "s", 0))
				if shape == flat && op.name == "no-op up" {
					noop[size] = figures.Median(taken[i].wall)
				}
			}
		}
	}
	if !slices.Contains(sizes, goalSize) {
		return all, nil
	}
	for _, by := range []struct {
		name     string
		askGuest bool
		goal     float64
	}{{"asked of the guest", true, overheadGoal}, {"answered by the schema", false, 0}} {
		own, err := c.ownTime(ctx, goalSize, rounds, by.askGuest)
		if err != nil {
			return nil, err
		}
		all = append(all,
			figures.Of(fmt.Sprintf("provider's start, Check and Diff of %d resources, %s", goalSize, by.name), own.Seconds(), "s", 0),
			figures.Of(fmt.Sprintf("flat, %d, no-op up, of that, %s", goalSize, by.name), noop[goalSize].Seconds()/own.Seconds(), "x", by.goal),
		)
	}
	return all, nil
}
