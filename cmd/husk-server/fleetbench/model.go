package main

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/husk-dev/husk/internal/worker"
)

// The model is of edge runners: each has its own stacks, and takes their runs one after the other, with their measured times; all
// requests share a server's processor. The cost of a run was measured, too, including its worker's cost, although that is on
// another machine in a fleet: the model is on the safe side.

// event is something that happens at a time: a stack's run is due, or a runner ends one.
type event struct {
	at     time.Duration
	runner int
	// due is set for a stack whose run is due.
	due bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate returns the waits of runs over a day in which each stack has a run in each period, at a time of its own. cores are the
// server's. Each run takes cost of one.
func simulate(runners, stacks int, period time.Duration, times []time.Duration, cost time.Duration, cores int) (waits []time.Duration, busy float64) {
	const day = 24 * time.Hour
	random := rand.New(rand.NewPCG(1, 2))
	queue := make(events, 0, stacks)
	for i := range stacks {
		queue = append(queue, event{time.Duration(random.Int64N(int64(period))), i % runners, true})
	}
	heap.Init(&queue)
	waiting := make([][]time.Duration, runners)
	running := make([]bool, runners)
	free := make([]time.Duration, cores) // when each core of the server is free
	var used time.Duration
	begin := func(runner int, now, due time.Duration) {
		core := 0
		for i := range free {
			if free[i] < free[core] {
				core = i
			}
		}
		served := max(now, free[core]) + cost
		free[core] = served
		used += cost
		running[runner] = true
		waits = append(waits, served-due)
		heap.Push(&queue, event{served + times[random.IntN(len(times))], runner, false})
	}
	for queue.Len() > 0 {
		e := heap.Pop(&queue).(event)
		if e.due {
			if next := e.at + period; next < day {
				heap.Push(&queue, event{next, e.runner, true})
			}
			if running[e.runner] {
				waiting[e.runner] = append(waiting[e.runner], e.at)
			} else {
				begin(e.runner, e.at, e.at)
			}
			continue
		}
		running[e.runner] = false
		if list := waiting[e.runner]; len(list) > 0 {
			waiting[e.runner] = list[1:]
			begin(e.runner, e.at, list[0])
		}
	}
	return waits, float64(used) / float64(day) / float64(cores)
}

// polling returns which part of its processor a server spends on runners that ask for runs and get none. A question waits at
// the server for [worker.AskTime], and a runner asks again then; that it has a run meanwhile is left out.
func polling(runners int, ask time.Duration, cores int) float64 {
	return float64(runners) / worker.AskTime.Seconds() * ask.Seconds() / float64(cores)
}

// model prints the load that a server of two cores can take, according to the model. ask is the server's cost of a question
// without a run.
func model(m *measured, stacks int, ask time.Duration) {
	const runners, all, cores = 10_000, 100_000, 2
	cost := m.server / time.Duration(stacks)
	polls := polling(runners, ask, cores)
	if cost <= 0 || polls >= 1 {
		return
	}
	fmt.Printf("\nmodel: %d runners at the edge, %d stacks, one server of %d cores, %v of it for each run, and %v for a question without one: %.0f%%\n%-14s %12s %12s %12s %12s\n",
		runners, all, cores, cost.Round(10*time.Microsecond), ask.Round(10*time.Microsecond), 100*polls, "each stack", "runs/second", "server busy", "wait p50", "wait p99")
	// Less time for runs is as if each took longer.
	cost = time.Duration(float64(cost) / (1 - polls))
	for _, period := range []time.Duration{24 * time.Hour, time.Hour, 15 * time.Minute, 5 * time.Minute} {
		if demand := float64(all) / period.Seconds() * cost.Seconds() / cores; demand >= 1 {
			fmt.Printf("every %-8v %12.0f %11.0f%% %12s %12s\n", period, float64(all)/period.Seconds(), 100*(polls+demand*(1-polls)), "more than", "it can do")
			continue
		}
		waits, busy := simulate(runners, all, period, m.runs, cost, cores)
		slices.Sort(waits)
		fmt.Printf("every %-8v %12.0f %11.0f%% %12v %12v\n", period, float64(all)/period.Seconds(), 100*(polls+busy*(1-polls)), quantile(waits, .5), quantile(waits, .99))
	}
	fmt.Printf("limit: %.0f runs a second\n", cores/cost.Seconds())
}
