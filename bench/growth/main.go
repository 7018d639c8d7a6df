// Command growth measures how the cost of deployments grows with the stack: update,
// update and preview without changes, refresh, and destroy, for stacks whose resources
// depend on nothing, on one another in a chain, or on one and for one. The provider is in-process and does next to nothing, and
// the state is durable, in files: the figures measure the engine and its state.
//
// Times and memory are printed for each resource, which is the same at each size where
// they grow in proportion, with the exponent of their growth.
//
//	go run -C bench ./growth [-sizes 10,1000] [-shapes flat,chain,fan] [-json]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/bench/internal/figures"
)

// exponentGoal is the largest exponent that counts as growth in proportion; some of the growth is sorting.
const exponentGoal = 1.1

// fitFrom is the smallest size that exponents are fitted from. In smaller stacks what
// each run costs, however small the stack, would hide the growth.
const fitFrom = 1_000

func main() {
	sizesFlag := flag.String("sizes", "10,1000,10000,100000", "numbers of resources, smallest first")
	shapesFlag := flag.String("shapes", "flat,chain,fan", "how the resources depend on each other")
	figures.Main("growth", func(ctx context.Context) ([]figures.Figure, error) {
		sizes, err := parseSizes(*sizesFlag)
		if err != nil {
			return nil, err
		}
		var all []figures.Figure
		for name := range strings.SplitSeq(*shapesFlag, ",") {
			shape := shapes[name]
			if shape == nil {
				return nil, fmt.Errorf("there is no shape %q, only flat, chain, and fan", name)
			}
			of, err := growth(ctx, name, shape, sizes)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
		return all, nil
	})
}

// smallest is the number of resources that every shape can be made of.
const smallest = 3

func parseSizes(text string) (sizes []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < smallest || (len(sizes) > 0 && n <= sizes[len(sizes)-1]) {
			return nil, fmt.Errorf("-sizes %s: must be numbers of %d or more, each larger than the last", text, smallest)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// growth measures all operations on stacks of a shape, at each size.
func growth(ctx context.Context, name string, shape shape, sizes []int) (all []figures.Figure, err error) {
	costs := make(map[string][]cost) // by operation, as many as there are sizes
	for _, size := range sizes {
		fmt.Fprintf(os.Stderr, "%s, %d resources\n", name, size)
		measured, err := measure(ctx, shape(size))
		if err != nil {
			return nil, fmt.Errorf("%s, %d resources: %w", name, size, err)
		}
		for i, c := range measured {
			costs[operations[i].name] = append(costs[operations[i].name], c)
		}
	}
	for _, op := range operations {
		all = append(all, report(name+", "+op.name, op, sizes, costs[op.name])...)
	}
	return all, nil
}

func report(name string, op operation, sizes []int, costs []cost) (all []figures.Figure) {
	for i, size := range sizes {
		each := func(what string, value float64, unit string) {
			all = append(all, figures.Of(fmt.Sprintf("%s, %d: %s/resource", name, size, what), value/float64(size), unit, 0))
		}
		each("time", figures.Micros(costs[i].time), "µs")
		each("processor time", figures.Micros(costs[i].processor), "µs")
		each("allocated", costs[i].allocated/1e3, "KB")
		each("peak heap", costs[i].peak/1e3, "KB")
		if op.writes {
			each("written", costs[i].written, "bytes")
		}
	}
	from, _ := slices.BinarySearch(sizes, fitFrom)
	if from > len(sizes)-2 {
		return all // there is nothing to fit a line to
	}
	fit := func(what string, of func(cost) float64) {
		var values []float64
		for _, c := range costs[from:] {
			if of(c) <= 0 {
				return
			}
			values = append(values, of(c))
		}
		title := fmt.Sprintf("%s, %s, %d to %d", name, what, sizes[from], sizes[len(sizes)-1])
		all = append(all, figures.Of(title, figures.Exponent(sizes[from:], values), "exponent", exponentGoal))
	}
	fit("time", func(c cost) float64 { return float64(c.time) })
	fit("processor time", func(c cost) float64 { return float64(c.processor) })
	fit("allocated", func(c cost) float64 { return c.allocated })
	fit("peak heap", func(c cost) float64 { return c.peak })
	if op.writes {
		fit("written", func(c cost) float64 { return c.written })
	}
	return all
}
