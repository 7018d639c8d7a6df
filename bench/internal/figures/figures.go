// Package figures has the common parts of the benchmarks: medians, fits, and their report.
package figures

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"time"
)

// Figure is one number of a report.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Goal is the largest value that is wanted, or the smallest; 0 where nothing is asked.
	Goal float64 `json:"goal"`
	Met  bool    `json:"met"`

	least bool // the goal is the smallest value
}

// Of makes a figure that is wanted to be at most the goal. A goal of 0 is always met.
func Of(name string, value float64, unit string, goal float64) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Goal: goal, Met: goal == 0 || value <= goal}
}

// AtLeast makes a figure that is wanted to be the goal or more.
func AtLeast(name string, value float64, unit string, goal float64) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Goal: goal, Met: value >= goal, least: true}
}

// Main is the main function of a benchmark: it parses the flags, to which it adds
// -json, measures until an interrupt, and prints the figures.
func Main(name string, measure func(context.Context) ([]Figure, error)) {
	asJSON := flag.Bool("json", false, "print the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measured, err := measure(ctx)
	if err == nil {
		err = Print(os.Stdout, measured, *asJSON)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Print writes the figures, as a table or as JSON.
func Print(w io.Writer, all []Figure, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"figures": all})
	}
	width := 0
	for _, f := range all {
		width = max(width, len(f.Name))
	}
	for _, f := range all {
		goal := ""
		if f.Goal > 0 {
			bound := "at most"
			if f.least {
				bound = "at least"
			}
			goal = fmt.Sprintf("  goal %s %g, met: %t", bound, f.Goal, f.Met)
		}
		if _, err := fmt.Fprintf(w, "%-*s %12.2f %s%s\n", width, f.Name, f.Value, f.Unit, goal); err != nil {
			return err
		}
	}
	return nil
}

// Median is the middle one of some values.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// Micros is a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Millis is a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Exponent is the slope of the straight line through the logarithms of sizes and
// costs that has the least squared error: 1 where the cost grows in proportion, 2
// where it grows with the square. There are at least two sizes, and no zeros.
func Exponent(sizes []int, costs []float64) float64 {
	var x, y float64
	for i, size := range sizes {
		x += math.Log(float64(size))
		y += math.Log(costs[i])
	}
	n := float64(len(sizes))
	x, y = x/n, y/n
	var xy, xx float64
	for i, size := range sizes {
		dx := math.Log(float64(size)) - x
		xy += dx * (math.Log(costs[i]) - y)
		xx += dx * dx
	}
	return xy / xx
}
