package main

import "fmt"

// charts are those of a benchmark.
func charts(benchmark string, m measurement) ([]chart, error) {
	all := map[string]func(measurement) []chart{
		"start": startCharts, "call": callCharts, "density": densityCharts, "deployment": deploymentCharts, "growth": growthCharts,
	}
	of := all[benchmark]
	if of == nil {
		return nil, fmt.Errorf("there are no charts of the benchmark %q: a file has the name of its benchmark, such as start.json", benchmark)
	}
	var drawn []chart
	for _, c := range of(m) {
		if c = c.measured(); len(c.groups) > 0 {
			drawn = append(drawn, c)
		}
	}
	if len(drawn) == 0 {
		return nil, fmt.Errorf("it has none of the figures of the benchmark %s", benchmark)
	}
	return drawn, nil
}

// sum is the bar of several figures together; none where one is missing.
func (m measurement) sum(series string, names ...string) bar {
	b := bar{series: series}
	for _, name := range names {
		f, ok := m[name]
		if !ok {
			return bar{}
		}
		b.value += f.Value
		b.goal = f.Goal
	}
	return b
}

// wanting returns the bar with a goal, unless it has a stricter one: to be at most so much.
func (b bar) wanting(atMost float64) bar {
	if atMost > 0 && (b.goal == 0 || atMost < b.goal) {
		b.goal = atMost
	}
	return b
}

// under is what a value may be at most that is wanted to be less than another by the goal
// of a ratio; 0 where there is no such goal.
func (m measurement) under(other float64, ratio string) float64 {
	if f := m[ratio]; f.Goal > 0 {
		return other / f.Goal
	}
	return 0
}

const (
	native = "native process"
	module = "module"
)

func startCharts(m measurement) []chart {
	c := chart{file: "start", title: "From nothing to the first answer", axis: "milliseconds, logarithmic"}
	row := func(label, name, series string) {
		b := m.sum(series, name).wanting(m.under(m["native process"].Value, "native process to "+name))
		c.groups = append(c.groups, group{label, []bar{b}})
	}
	row("native process, Pulumi's SDK", "native process", native)
	row("native process, bare", "native process, bare", native)
	row("new process, cold compile", "cold compile", module)
	row("new process, compiled code", "compiled code, no image", module)
	row("new process, code and image", "compiled code and image", module)
	row("warm host, configuration", "warm host, another configuration", module)
	row("warm host, instance", "warm host, another instance", module)
	return []chart{c}
}

// ways are how bench/call runs the provider.
var ways = [...]struct{ name, series string }{
	{"native", "native, in process"}, {"wasm, declared", "module, schema's own"}, {"wasm", "module, own code"}, {"gRPC", native},
}

func callCharts(m measurement) []chart {
	latency := chart{file: "call", title: "Check and Diff of a resource", axis: "microseconds for both, logarithmic"}
	for _, bag := range []string{"1 KB", "10 KB", "100 KB nested", "100 KB flat", "1 MB nested"} {
		g := group{label: bag}
		both := func(way string) bar { return m.sum("", bag+", "+way+", check", bag+", "+way+", diff") }
		process, inProcess := both("gRPC").value, both("native").value
		for _, way := range ways {
			b := both(way.name)
			b.series = way.series
			ratio := bag + ", check + diff, "
			g.bars = append(g.bars, b.
				wanting(m.under(process, ratio+"gRPC to "+way.name)).
				wanting(inProcess*m[ratio+way.name+" to native"].Goal))
		}
		latency.groups = append(latency.groups, g)
	}
	rate := chart{file: "throughput", title: "Check and Diff of 1 KB by several callers", axis: "calls per second, logarithmic", more: true}
	for _, callers := range []string{"1", "2", "8"} {
		of := "1 KB, callers: " + callers + ", "
		g := group{label: callers + " at once"}
		for _, way := range ways {
			b := m.sum(way.series, of+way.name)
			if way.name == "wasm" {
				b.goal = m[of+"gRPC"].Value * m[of+"wasm to gRPC"].Goal
			}
			g.bars = append(g.bars, b)
		}
		rate.groups = append(rate.groups, g)
	}
	return []chart{latency, rate}
}

func densityCharts(m measurement) []chart {
	c := chart{file: "density", title: "Private memory of a configuration", axis: "KB, idle and after a call, logarithmic"}
	row := func(label, name string, over float64) {
		g := group{label: label}
		for _, state := range []string{"idle", "after a call"} {
			b := m.sum(state, name+", "+state+", private", name+", "+state+", files in memory")
			b.value /= over
			if name == further {
				process := m["each of 50 native processes, "+state+", private"].Value
				b = b.wanting(m.under(process, "private memory, native process to further configuration, "+state))
			}
			g.bars = append(g.bars, b)
		}
		c.groups = append(c.groups, g)
	}
	row("native process, Pulumi's SDK", "each of 50 native processes", 1)
	row("native process, bare", "each of 50 bare native processes", 1)
	for _, n := range []int{1, 10, 100, 1000} {
		row(fmt.Sprintf("host of %d, each", n), fmt.Sprintf("host with %d configurations", n), float64(n))
	}
	row("each further one in a host", further, 1)
	return []chart{c}
}

const further = "each further configuration"

// operations are those of bench/deployment and bench/growth.
var operations = [...]string{"first up", "no-op up", "no-op preview", "refresh", "destroy"}

func deploymentCharts(m measurement) []chart {
	c := chart{file: "deployment", title: "Processes of husk with a module", axis: "seconds from start to end, logarithmic"}
	for _, op := range operations {
		for _, size := range []int{1, 100, 1000, 10000} {
			g := group{label: fmt.Sprintf("%s, %d", op, size)}
			for _, shape := range []string{"flat", "chain"} {
				g.bars = append(g.bars, m.sum(shape, fmt.Sprintf("%s, %d, %s", shape, size, op)))
			}
			c.groups = append(c.groups, g)
		}
	}
	return []chart{c}
}

func growthCharts(m measurement) []chart {
	c := chart{file: "growth", title: "The engine's work for each resource", axis: "microseconds of the processor, logarithmic"}
	for _, op := range operations {
		for _, size := range []int{1000, 10000, 100000} {
			g := group{label: fmt.Sprintf("%s, %d", op, size)}
			for _, shape := range []string{"flat", "chain", "fan"} {
				g.bars = append(g.bars, m.sum(shape, fmt.Sprintf("%s, %s, %d: processor time/resource", shape, op, size)))
			}
			c.groups = append(c.groups, g)
		}
	}
	return []chart{c}
}
