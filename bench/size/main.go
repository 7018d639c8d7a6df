// Command size measures what flags of Go's linker, and wasm-opt where it is installed,
// change of a provider in Go: its size, the time to compile it, to load it when it is
// compiled, and to answer a Check. Times are those of the processor.
//
//	go run ./bench/size [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/processor"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/host"
)

func main() {
	rounds := flag.Int("n", 5, "rounds; each measures every variant in turn")
	figures.Main("size", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

// calls is how many calls are measured at once.
const calls = 1000

// times are those of one variant, a value for each round.
type times struct{ compile, load, call []time.Duration }

func measure(ctx context.Context, rounds int) (_ []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	modules, err := build(ctx, dir)
	if err != nil {
		return nil, err
	}
	all := make([]times, len(modules))
	for round := range rounds {
		for i, m := range modules {
			cache := filepath.Join(dir, fmt.Sprintf("cache-%d-%d", i, round))
			if err := all[i].once(ctx, m, cache); err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	var rows []figures.Figure
	for i, m := range modules {
		rows = append(rows,
			figures.Of(m.name+": size", float64(m.size)/1e3, "kB", 0),
			figures.Of(m.name+": size, gzip", float64(m.compressed)/1e3, "kB", 0),
			figures.Of(m.name+": compile", figures.Millis(figures.Median(all[i].compile)), "ms", 0),
			figures.Of(m.name+": load", figures.Millis(figures.Median(all[i].load)), "ms", 0))
		if m.callable {
			rows = append(rows, figures.Of(m.name+": Check", figures.Millis(figures.Median(all[i].call))*1e3, "µs", 0))
		}
	}
	return rows, nil
}

// once compiles a module, loads it in another host, and calls it.
func (t *times) once(ctx context.Context, m module, cache string) error {
	for _, into := range []*[]time.Duration{&t.compile, &t.load} {
		h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
		if err != nil {
			return err
		}
		before := processor.Own()
		loaded, err := h.Load(ctx, m.file)
		*into = append(*into, processor.Own()-before)
		if err == nil && into == &t.load && m.callable {
			err = t.calls(ctx, loaded)
		}
		if err = errors.Join(err, h.Close(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (t *times) calls(ctx context.Context, loaded *host.Module) error {
	p, err := bareengine.Configure(ctx, loaded, host.ProviderOptions{})
	if err != nil {
		return err
	}
	question := bareengine.Small().Question(record.RecordType)
	var before time.Duration
	for n := range 2 * calls {
		if n == calls { // the first half warms up
			before = processor.Own()
		}
		if _, err := question.Check(ctx, p); err != nil {
			return err
		}
	}
	t.call = append(t.call, (processor.Own()-before)/calls)
	return p.Close()
}
