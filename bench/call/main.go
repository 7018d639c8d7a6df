// Command call measures what the sandbox costs a call: Check and Diff by the same
// provider code, run natively and as a WebAssembly module through the host, in
// turn within one run.
//
//	go run ./bench/call [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/figures"
	random "github.com/husk-dev/husk/examples/providers/random/provider"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/gobuild"
)

func main() {
	rounds := flag.Int("n", 100, "rounds; each runs every variant in turn")
	figures.Main("call", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

// callsPerRound is how often a variant is called in one of its turns: enough that
// the clock's resolution and the switch between variants do not count.
const callsPerRound = 10

func measure(ctx context.Context, rounds int) ([]figures.Figure, error) {
	native, err := guest.New(random.New())
	if err != nil {
		return nil, err
	}
	sandboxed, closeHost, err := load(ctx, "examples/providers/random")
	if err != nil {
		return nil, err
	}
	defer closeHost()

	variants := []abi.Provider{native, sandboxed}
	var all []figures.Figure
	for _, kilobytes := range []int{1, 10, 100} {
		inputs := inputsOf(kilobytes << 10)
		taken := make([][]time.Duration, len(variants))
		for round := range rounds + 1 {
			for i, provider := range variants {
				d, err := checkAndDiff(ctx, provider, inputs)
				if err != nil {
					return nil, err
				}
				if round > 0 { // the first round warms up
					taken[i] = append(taken[i], d)
				}
			}
		}
		name := fmt.Sprintf("check + diff, %d KB", kilobytes)
		n, w := figures.Median(taken[0]), figures.Median(taken[1])
		all = append(all,
			figures.Of(name+", native", figures.Micros(n), "µs", 0),
			figures.Of(name+", wasm", figures.Micros(w), "µs", 0),
			figures.Of(name+", wasm/native", float64(w)/float64(n), "x", 0),
		)
	}
	return all, nil
}

// load builds the provider's module and starts it with nothing granted.
func load(ctx context.Context, dir string) (provider abi.Provider, closeHost func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, nil, err
	}
	wasm, err := (&gobuild.Builder{Dir: cache + "/husk/bench"}).Build(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	h, err := host.New(ctx, host.NewConfig())
	if err != nil {
		return nil, nil, err
	}
	module, err := h.LoadBytes(ctx, wasm)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close(ctx))
	}
	p, err := module.NewProvider(ctx, host.ProviderOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, h.Close(ctx))
	}
	return p, func() { _, _ = p.Close(), h.Close(ctx) }, nil
}

const resourceType = "random:index/randomPet:RandomPet"

// inputsOf returns inputs of about so many bytes, most of them in keepers of 100
// bytes each.
func inputsOf(size int) property.Map {
	var keepers []property.Entry
	for i := range size / 100 {
		key := fmt.Sprintf("keeper%03d", i)
		keepers = append(keepers, property.Entry{Key: key, Value: property.String(strings.Repeat("x", 90))})
	}
	return property.NewMap(
		property.Entry{Key: "length", Value: property.Number(3)},
		property.Entry{Key: "keepers", Value: property.Object(property.NewMap(keepers...))},
	)
}

// checkAndDiff returns the time of one Check and one Diff of unchanged inputs.
func checkAndDiff(ctx context.Context, p abi.Provider, inputs property.Map) (time.Duration, error) {
	u := urn.New("bench", "call", "", resourceType, "pet")
	state := inputs.With("id", property.String("a-b-c")).With("separator", property.String("-"))
	start := time.Now()
	for range callsPerRound {
		checked, err := p.Check(ctx, abi.CheckRequest{URN: u, Name: "pet", Type: resourceType, Olds: &inputs, News: inputs})
		if err != nil {
			return 0, err
		}
		if len(checked.Failures) > 0 {
			return 0, fmt.Errorf("%s: %s", checked.Failures[0].Path, checked.Failures[0].Reason)
		}
		_, err = p.Diff(ctx, abi.DiffRequest{
			URN: u, Name: "pet", Type: resourceType, ID: "a-b-c",
			Olds: state, News: checked.Inputs, OldInputs: checked.Inputs,
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(start) / callsPerRound, nil
}
