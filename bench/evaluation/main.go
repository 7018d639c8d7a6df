// Command evaluation measures how the cost of a program in YAML grows with its size: reading the project and the
// configuration of a stack, checking the program, and running it against a monitor that answers at once; for programs
// with mistakes, telling them. Each shape has one thing many times: interpolations, keys, resources, options, outputs.
//
// The processor time of each size is printed, with the exponent of its growth, which is 1 where the cost grows in
// proportion.
//
//	go run -C bench ./evaluation [-sizes 2500,40000] [-shapes interpolations,keys] [-json]
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
)

// exponentGoal is the largest exponent that counts as growth in proportion; some of the growth is sorting.
const exponentGoal = 1.1

func main() {
	sizesFlag := flag.String("sizes", "2500,10000,40000", "how often each shape has its thing, smallest first")
	shapesFlag := flag.String("shapes", "", "the beginnings of the names of the shapes, separated by commas; all if empty")
	figures.Main("evaluation", func(ctx context.Context) (all []figures.Figure, err error) {
		sizes, err := parseSizes(*sizesFlag)
		if err != nil {
			return nil, err
		}
		for _, s := range shapes {
			if !slices.ContainsFunc(strings.Split(*shapesFlag, ","), func(begin string) bool { return strings.HasPrefix(s.name, begin) }) {
				continue
			}
			fmt.Fprintln(os.Stderr, s.name)
			var costs []float64
			for _, n := range sizes {
				used, err := measure(ctx, s, n)
				if err != nil {
					return nil, fmt.Errorf("%s, %d: %w", s.name, n, err)
				}
				costs = append(costs, float64(used))
				all = append(all, figures.Of(fmt.Sprintf("%s, %d", s.name, n), figures.Micros(used)/float64(n), "µs each", 0))
			}
			all = append(all, figures.Of(s.name, figures.Exponent(sizes, costs), "exponent", exponentGoal))
		}
		return all, nil
	})
}

func parseSizes(text string) (sizes []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, fmt.Errorf("-sizes %s: must be numbers, each larger than the last", text)
		}
		sizes = append(sizes, n)
	}
	if len(sizes) < 2 {
		return nil, fmt.Errorf("-sizes %s: must be two numbers or more", text)
	}
	return sizes, nil
}

// repeats is how often each size is measured. The least counts: what else the machine does only adds.
const repeats = 3

func measure(ctx context.Context, s shape, n int) (least time.Duration, err error) {
	project, config := s.write(n)
	for range repeats {
		runtime.GC()
		used := processor.Own()
		if err := evaluate(ctx, project, config, nil); err != nil {
			return 0, err
		}
		used = max(processor.Own()-used, time.Microsecond)
		if least == 0 || used < least {
			least = used
		}
	}
	return least, nil
}

// evaluate does with a project what a deployment does. Mistakes of the program are told to nobody.
func evaluate(ctx context.Context, project, config string, prepare func(*yamlprogram.Program)) error {
	dir, err := os.MkdirTemp("", "evaluation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err = run(ctx, dir, project, config, prepare)
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		_ = ds.Error()
		return nil
	}
	return err
}

func run(ctx context.Context, dir, project, config string, prepare func(*yamlprogram.Program)) error {
	p, err := program.ParseProject(ctx, projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte(project))
	if err != nil {
		return err
	}
	if config != "" {
		if err := os.WriteFile(filepath.Join(dir, "Husk.dev.yaml"), []byte("config:\n"+config), 0o600); err != nil {
			return err
		}
	}
	stack, err := p.StackConfig("dev")
	if err != nil {
		return err
	}
	c := abi.RunContext{Project: cmp.Or(p.Name, "grown"), Stack: "dev", Organization: "organization", Parallel: 1}
	if c.Config, err = p.ConfigEntries(stack, nil); err != nil {
		return err
	}
	program := yamlprogram.New(p, schemas{})
	if prepare != nil {
		prepare(program)
	}
	return program.Run(ctx, c, monitor{})
}
