package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// counts are what this server has counted since it started.
type counts struct {
	since time.Time

	mu                       sync.Mutex
	refused, lost, unsettled int64
	ends                     map[[2]string]int64 // by operation and state
	waits                    histogram
	times                    map[string]*histogram // by operation
}

func newCounts() *counts {
	return &counts{since: time.Now(), ends: make(map[[2]string]int64), times: make(map[string]*histogram)}
}

// bounds are the upper bounds of the buckets of histograms, in seconds.
var bounds = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

// histogram counts times by bucket. The last bucket is for times above all bounds.
type histogram struct {
	counts [12]int64
	sum    float64
	n      int64
}

func (h *histogram) add(d time.Duration) {
	i, _ := slices.BinarySearch(bounds, d.Seconds())
	h.counts[i]++
	h.sum += d.Seconds()
	h.n++
}

func (c *counts) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

func (c *counts) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
}

func (c *counts) unsettle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsettled++
}

func (c *counts) wait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits.add(d)
}

func (c *counts) end(r *record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[[2]string{r.Operation, string(r.State)}]++
	if r.Began.IsZero() {
		return
	}
	if c.times[r.Operation] == nil {
		c.times[r.Operation] = &histogram{}
	}
	c.times[r.Operation].add(r.Ended.Sub(r.Began))
}

// kind says how a metric is aggregated.
type kind int

const (
	// gauges are about the whole database, so that all servers that share it give the same.
	gauge kind = iota
	// counters and histograms are about this server, and begin when it starts.
	counter
	durations
)

// metric is a metric for Prometheus and for collectors of OpenTelemetry.
type metric struct {
	// name and unit are those of OpenTelemetry. Prometheus has them as a collector translates them: see [metric.prometheus].
	name, unit, about string
	kind              kind
	// labels are the names of what tells the points apart, and points are their values.
	labels []string
	points func(*gauges, *counts) []point
}

// point is a value of a metric.
type point struct {
	labels []string
	number float64
	// times is the value of a histogram.
	times histogram
}

func one(number float64) []point { return []point{{number: number}} }

// metrics are all.
var metrics = []metric{
	{"husk.runs", "{run}", "Runs that are not final, by state.", gauge, []string{"state"}, func(g *gauges, _ *counts) (all []point) {
		for _, state := range []runapi.State{runapi.Queued, runapi.Running, runapi.Waiting, runapi.Attention} {
			all = append(all, point{labels: []string{string(state)}, number: float64(g.runs[state])})
		}
		return all
	}},
	{"husk.runs.blocked", "{run}", "Queued runs that no worker takes now, however many are free, by cause.", gauge, []string{"cause"}, func(g *gauges, _ *counts) (all []point) {
		if g.blocked == nil {
			return nil
		}
		for _, cause := range blocking {
			all = append(all, point{labels: []string{cause}, number: float64(g.blocked[cause])})
		}
		return all
	}},
	{"husk.oldest_queued", "s", "How long the oldest queued run has waited.", gauge, nil, func(g *gauges, _ *counts) []point { return one(g.oldest) }},
	{"husk.workers", "{worker}", "Workers that were heard of in the last two minutes.", gauge, nil, func(g *gauges, _ *counts) []point {
		return one(float64(g.workers))
	}},
	{"husk.worker.slots", "{run}", "Runs that these workers take at once.", gauge, nil, func(g *gauges, _ *counts) []point {
		return one(float64(g.slots))
	}},
	{"husk.refused", "{request}", "Requests that were refused.", counter, nil, func(_ *gauges, c *counts) []point { return one(float64(c.refused)) }},
	{"husk.workers.lost", "{worker}", "Runs whose worker was lost.", counter, nil, func(_ *gauges, c *counts) []point { return one(float64(c.lost)) }},
	{"husk.runs.attention", "{run}", "Times that a run has needed attention, since an earlier worker may have created something.", counter, nil, func(_ *gauges, c *counts) []point {
		return one(float64(c.unsettled))
	}},
	{"husk.runs.ended", "{run}", "Runs that ended, by operation and state.", counter, []string{"operation", "state"}, func(_ *gauges, c *counts) (all []point) {
		for _, key := range slices.SortedFunc(maps.Keys(c.ends), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			all = append(all, point{labels: key[:], number: float64(c.ends[key])})
		}
		return all
	}},
	{"husk.wait", "s", "How long runs waited for a worker.", durations, nil, func(_ *gauges, c *counts) []point { return []point{{times: c.waits}} }},
	{"husk.run", "s", "How long runs took, by operation.", durations, []string{"operation"}, func(_ *gauges, c *counts) (all []point) {
		for _, operation := range slices.Sorted(maps.Keys(c.times)) {
			all = append(all, point{labels: []string{operation}, times: *c.times[operation]})
		}
		return all
	}},
}

// blocking are the causes that block runs which are queued. The first that a run has counts.
var blocking = []string{runapi.ForWorker, runapi.ForLabels, runapi.ForLimit, runapi.ForStack, runapi.ForLock}

// gauges are about the whole database, which adds them up: however many runs and workers there are, they are a few numbers here.
type gauges struct {
	runs           map[runapi.State]int
	blocked        map[string]int // by cause, nil if there is no memory for the labels of workers now
	oldest         float64        // in seconds
	workers, slots int
}

// present is how long a worker is one after it was heard of.
const present = 2 * time.Minute

func (s *Server) gauges(t *tx, g *gauges) (err error) {
	if g.runs, g.oldest, err = t.queue(everyTenant); err != nil {
		return err
	}
	if g.blocked = map[string]int{}; g.runs[runapi.Queued] > 0 {
		var full *intake.FullError
		if g.blocked, err = s.blocked(t); err != nil && !errors.As(err, &full) {
			return err
		}
	}
	return t.row("SELECT count(*), COALESCE(SUM(slots), 0) FROM husk_workers WHERE seen > ?", millis(time.Now().Add(-present))).Scan(&g.workers, &g.slots)
}

// queue counts the runs of a tenant that are not final, or of all, and says for how many seconds the oldest queued one has waited.
func (t *tx) queue(tenant string) (runs map[runapi.State]int, oldest float64, err error) {
	of, args := "", []any(nil)
	if tenant != everyTenant {
		of, args = " AND tenant = ?", []any{tenant}
	}
	runs = make(map[runapi.State]int)
	err = t.rows(func(scan func(...any) error) error {
		var tenant string
		var state runapi.State
		var n, attention int
		var first int64
		err := scan(&tenant, &state, &attention, &n, &first)
		if attention == 1 {
			state = runapi.Attention
		}
		if runs[state] += n; state == runapi.Queued {
			oldest = max(oldest, time.Since(timeOf(first)).Seconds())
		}
		return err
	}, "SELECT tenant, state, attention, count(*), min(made) FROM husk_runs WHERE state IN ('queued', 'running', 'waiting')"+of+" GROUP BY tenant, state, attention", args...)
	return runs, oldest, err
}

// reading has the points of each of the metrics.
type reading [][]point

// readMetrics reads all metrics at one time.
func (s *Server) readMetrics(ctx context.Context) (reading, error) {
	held := s.memory.Hold("")
	defer held.End()
	var g gauges
	err := s.db.step(intake.WithRoom(ctx, held.Add), func(t *tx) error { return s.gauges(t, &g) })
	if err != nil {
		return nil, err
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	var all reading
	for _, m := range metrics {
		all = append(all, m.points(&g, s.counts))
	}
	return all, nil
}

// status returns what the server does, for a tenant or for all.
func (s *Server) status(ctx context.Context, tenant string) (*runapi.Status, error) {
	const lately = time.Hour
	now := time.Now()
	out := &runapi.Status{
		Version: s.options.Version, Database: "sqlite", Last: map[runapi.State]int{}, Workers: []runapi.WorkerStatus{}, Waits: map[string]runapi.Wait{},
	}
	if s.db.postgres {
		out.Database = "postgres"
	}
	all := 0
	if tenant == everyTenant {
		all = 1
	}
	if err := s.lately(ctx, tenant, now.Add(-lately), out); err != nil {
		return nil, err
	}
	err := s.db.step(ctx, func(t *tx) error {
		var err error
		if out.Runs, out.Oldest, err = t.queue(tenant); err != nil {
			return err
		}
		if err := t.room("SELECT COALESCE(SUM(octet_length(name) + octet_length(labels) + ?), 0) FROM husk_workers WHERE seen > ? AND (tenant = ? OR tenant = '*' OR 1 = ?)",
			smallRow, millis(now.Add(-present)), tenant, all); err != nil {
			return err
		}
		return t.rows(func(scan func(...any) error) error {
			var w runapi.WorkerStatus
			var labels string
			var seen int64
			if err := scan(&w.Name, &labels, &w.Slots, &w.Running, &seen); err != nil {
				return err
			}
			w.Seen = timeOf(seen)
			out.Workers = append(out.Workers, w)
			return json.Unmarshal([]byte(labels), &out.Workers[len(out.Workers)-1].Labels)
		}, "SELECT name, labels, slots, running, seen FROM husk_workers WHERE seen > ? AND (tenant = ? OR tenant = '*' OR 1 = ?) ORDER BY name", millis(now.Add(-present)), tenant, all)
	})
	return out, err
}

// lately adds the runs of a tenant, or of all, that have ended since a time. It reads them in pages: others have their turn between two.
func (s *Server) lately(ctx context.Context, tenant string, since time.Time, out *runapi.Status) error {
	const page, eachRun = 2000, 32 // two numbers, in lists that grow
	var waits, times []float64
	ended, number := millis(since), int64(math.MaxInt64)
	for read := page; read == page; {
		read = 0
		if err := intake.Room(ctx, page*eachRun); err != nil {
			return err
		}
		if err := s.db.step(ctx, func(t *tx) error {
			return t.rows(func(scan func(...any) error) error {
				read++
				var of string
				var state runapi.State
				var made, began int64
				if err := scan(&number, &of, &state, &made, &began, &ended); err != nil || of != tenant && tenant != everyTenant {
					return err
				}
				out.Last[state]++
				if began > 0 {
					waits, times = append(waits, float64(began-made)/1000), append(times, float64(ended-began)/1000)
				}
				return nil
			}, "SELECT number, tenant, state, made, began, ended FROM husk_runs WHERE (ended, number) > (?, ?) ORDER BY ended, number LIMIT ?", ended, number, page)
		}); err != nil {
			return err
		}
	}
	out.Waits["queued"], out.Waits["running"] = quantiles(waits), quantiles(times)
	return nil
}

func quantiles(all []float64) runapi.Wait {
	if len(all) == 0 {
		return runapi.Wait{}
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[int(q*float64(len(all)-1))] }
	return runapi.Wait{Median: at(.5), P99: at(.99)}
}
