// Command metering measures what it costs that a guest can be stopped: the same modules
// in plain wazero, where nothing stops them, metered as the host runs them, and with
// wazero's own way, WithCloseOnContextDone. All run in turn, round by round.
//
// Most guests are standard Go, as providers are. The others are of C, and of wazero's own
// benchmarks, written in TinyGo.
//
//	go run ./bench/metering [-n rounds] [-json]
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/husk-dev/husk/bench/internal/figures"
)

// goal is what metering may cost Go guests in the median, as a factor.
const goal = 1.25

func main() {
	rounds := flag.Int("n", 15, "rounds; each runs every variant in turn")
	figures.Main("metering", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

func measure(ctx context.Context, rounds int) (all []figures.Figure, err error) {
	// wazero's own way needs a context that can end, as those of real calls can.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guests, err := loadGuests(ctx)
	if err != nil {
		return nil, err
	}
	ratios := map[bool][]float64{} // of Go, or not
	for _, g := range guests {
		taken, err := g.measure(ctx, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		base := taken[plain]
		all = append(all, figures.Of(g.name+", plain", figures.Micros(base), "µs", 0))
		ratio := func(v variant) float64 { return float64(taken[v]) / float64(base) }
		all = append(all,
			figures.Of(g.name+", metered", ratio(metered), "x", 0),
			figures.Of(g.name+", WithCloseOnContextDone", ratio(closing), "x", 0))
		ratios[g.standard] = append(ratios[g.standard], ratio(metered))
	}
	return append(all,
		figures.Of("median of C and TinyGo guests, metered", figures.Median(ratios[false]), "x", 0),
		figures.Of("median of Go guests, metered", figures.Median(ratios[true]), "x", goal),
	), nil
}

// turn is how long a variant runs in one of its turns, at the least.
const turn = 4 * time.Millisecond

// measure answers the time of one run of the guest's work by each variant.
func (g *guest) measure(ctx context.Context, rounds int) (taken [variants]time.Duration, err error) {
	runs := 1
	var each [variants][]time.Duration
	for round := range rounds + 1 {
		for v := range variants {
			start := time.Now()
			for range runs {
				if err := g.run(ctx, g.instances[v]); err != nil {
					return taken, err
				}
			}
			d := time.Since(start)
			if round > 0 { // the first round warms up, and tells how much a turn is
				each[v] = append(each[v], d/time.Duration(runs))
			} else if v == plain {
				runs = int(turn/max(d, 1)) + 1
			}
		}
	}
	for v := range variants {
		taken[v] = figures.Median(each[v])
	}
	return taken, nil
}
