// Command density measures the memory of many configurations of a provider: as configurations of one module in one process, and
// as native processes, one for each configuration: a process made with Pulumi's SDK, as its providers are, and a bare one that
// has the gRPC service and nothing else. It reads what Linux tells of processes and runs nowhere else.
//
//	go run -C bench ./density [-sizes 1,10,100,1000] [-processes 50] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func main() {
	sizesFlag := flag.String("sizes", "1,10,100,1000", "numbers of configurations, ascending")
	processes := flag.Int("processes", 50, "the most native processes; more configurations than that are measured in the host alone")
	figures.Main("density", func(ctx context.Context) ([]figures.Figure, error) {
		if runtime.GOOS != "linux" {
			return nil, errors.New("memory is read from /proc/PID/smaps_rollup, which " + runtime.GOOS + " does not have: run it on Linux")
		}
		var sizes []int
		for field := range strings.SplitSeq(*sizesFlag, ",") {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
				return nil, fmt.Errorf("-sizes %s: must be positive numbers, ascending", *sizesFlag)
			}
			sizes = append(sizes, n)
		}
		return measure(ctx, sizes, max(*processes, 1))
	})
}

// idleGoal is how much less memory a further idle configuration is to take than a process,
// whether it has been called or not.
const idleGoal = 25

func measure(ctx context.Context, sizes []int, processes int) (_ []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "density")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	native, err := processesOf(ctx, "./sdkpeer", processes)
	if err != nil {
		return nil, fmt.Errorf("%d native processes: %w", processes, err)
	}
	bare, err := processesOf(ctx, "./peer", processes)
	if err != nil {
		return nil, fmt.Errorf("%d bare native processes: %w", processes, err)
	}
	hosted, err := newHosted(ctx, dir)
	if err != nil {
		return nil, err
	}
	idle, err := hosted.grow(ctx, sizes, false)
	if err != nil {
		return nil, fmt.Errorf("idle configurations: %w", err)
	}
	called, err := hosted.grow(ctx, sizes, true)
	if err != nil {
		return nil, fmt.Errorf("configurations that are called: %w", err)
	}
	var rows []figures.Figure
	for _, of := range []struct {
		name string
		natives
	}{{"native processes", native}, {"bare native processes", bare}} {
		name := fmt.Sprintf("each of %d %s", processes, of.name)
		rows = append(rows, of.idle.report(name+", idle")...)
		rows = append(rows, of.called.report(name+", after a call")...)
	}
	for i, size := range sizes {
		name := fmt.Sprintf("host with %d configurations", size)
		rows = append(rows, idle[i].report(name+", idle")...)
		rows = append(rows, called[i].report(name+", after a call")...)
	}
	last := len(sizes) - 1
	if last == 0 {
		return rows, nil
	}
	further := func(all []memory) memory { return all[last].less(all[0]).over(sizes[last] - sizes[0]) }
	rows = append(rows, further(idle).report("each further configuration, idle")...)
	rows = append(rows, further(called).report("each further configuration, after a call")...)
	return append(rows,
		figures.AtLeast("private memory, native process to further configuration, idle", native.idle.own()/further(idle).own(), "x", idleGoal),
		figures.AtLeast("private memory, native process to further configuration, after a call", native.called.own()/further(called).own(), "x", idleGoal),
		figures.AtLeast("private memory, bare native process to further configuration, idle", bare.idle.own()/further(idle).own(), "x", 0),
	), nil
}
