package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/otlp"
	"github.com/husk-dev/husk/internal/base/trace"
)

// counts are the counts of this server since it started.
type counts struct {
	since time.Time

	mu                       sync.Mutex
	refused, lost, unsettled int64
	ends                     map[[2]string]int64 // by operation and state
	waits                    telemetry.Histogram
	times                    map[string]*telemetry.Histogram // by operation
}

func newCounts() *counts {
	return &counts{since: time.Now(), ends: make(map[[2]string]int64), waits: telemetry.Histogram{Bounds: bounds}, times: make(map[string]*telemetry.Histogram)}
}

// bounds are the bounds of the times that runs take.
var bounds = &telemetry.Bounds{.1, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

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
	c.waits.Add(d)
}

func (c *counts) end(r *record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[[2]string{r.Operation, string(r.State)}]++
	if r.Began.IsZero() {
		return
	}
	if c.times[r.Operation] == nil {
		c.times[r.Operation] = &telemetry.Histogram{Bounds: bounds}
	}
	c.times[r.Operation].Add(r.Ended.Sub(r.Began))
}

// metric is a metric of runs and workers. Gauges are about the whole database, so that all servers that share it give the same.
type metric struct {
	telemetry.Metric
	points func(*gauges, *counts) []telemetry.Point
}

// metrics are all.
var metrics = []metric{
	{telemetry.Metric{Name: "husk.runs", Unit: "{run}", About: "Runs that are not final, by state.", Kind: telemetry.Gauge, Labels: []string{"state"}}, func(g *gauges, _ *counts) (all []telemetry.Point) {
		for _, state := range []runapi.State{runapi.Queued, runapi.Running, runapi.Waiting, runapi.Attention} {
			all = append(all, telemetry.Point{Labels: []string{string(state)}, Number: float64(g.runs[state])})
		}
		return all
	}},
	{telemetry.Metric{Name: "husk.runs.blocked", Unit: "{run}", About: "Queued runs that no worker takes now, however many are free, by cause.", Kind: telemetry.Gauge, Labels: []string{"cause"}}, func(g *gauges, _ *counts) (all []telemetry.Point) {
		if g.blocked == nil {
			return nil
		}
		for _, cause := range blocking {
			all = append(all, telemetry.Point{Labels: []string{cause}, Number: float64(g.blocked[cause])})
		}
		return all
	}},
	{telemetry.Metric{Name: "husk.oldest_queued", Unit: "s", About: "How long the oldest queued run has waited.", Kind: telemetry.Gauge}, func(g *gauges, _ *counts) []telemetry.Point { return telemetry.One(g.oldest) }},
	{telemetry.Metric{Name: "husk.workers", Unit: "{worker}", About: "Workers that were heard of in the last two minutes.", Kind: telemetry.Gauge}, func(g *gauges, _ *counts) []telemetry.Point {
		return telemetry.One(g.workers)
	}},
	{telemetry.Metric{Name: "husk.worker.slots", Unit: "{run}", About: "Runs that these workers take at once.", Kind: telemetry.Gauge}, func(g *gauges, _ *counts) []telemetry.Point {
		return telemetry.One(g.slots)
	}},
	{telemetry.Metric{Name: "husk.refused", Unit: "{request}", About: "Requests that were refused.", Kind: telemetry.Counter}, func(_ *gauges, c *counts) []telemetry.Point { return telemetry.One(c.refused) }},
	{telemetry.Metric{Name: "husk.workers.lost", Unit: "{worker}", About: "Runs whose worker was lost.", Kind: telemetry.Counter}, func(_ *gauges, c *counts) []telemetry.Point { return telemetry.One(c.lost) }},
	{telemetry.Metric{Name: "husk.runs.attention", Unit: "{run}", About: "Times that a run has needed attention, since an earlier worker may have created something.", Kind: telemetry.Counter}, func(_ *gauges, c *counts) []telemetry.Point {
		return telemetry.One(c.unsettled)
	}},
	{telemetry.Metric{Name: "husk.runs.ended", Unit: "{run}", About: "Runs that ended, by operation and state.", Kind: telemetry.Counter, Labels: []string{"operation", "state"}}, func(_ *gauges, c *counts) (all []telemetry.Point) {
		for _, key := range slices.SortedFunc(maps.Keys(c.ends), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			all = append(all, telemetry.Point{Labels: key[:], Number: float64(c.ends[key])})
		}
		return all
	}},
	{telemetry.Metric{Name: "husk.wait", Unit: "s", About: "How long runs waited for a worker.", Kind: telemetry.Durations}, func(_ *gauges, c *counts) []telemetry.Point { return []telemetry.Point{{Times: c.waits}} }},
	{telemetry.Metric{Name: "husk.run", Unit: "s", About: "How long runs took, by operation.", Kind: telemetry.Durations, Labels: []string{"operation"}}, func(_ *gauges, c *counts) (all []telemetry.Point) {
		for _, operation := range slices.Sorted(maps.Keys(c.times)) {
			all = append(all, telemetry.Point{Labels: []string{operation}, Times: *c.times[operation]})
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
	return t.row("SELECT count(*), COALESCE(SUM(slots), 0) FROM husk_workers WHERE seen > ?", millis(t.Now().Add(-present))).Scan(&g.workers, &g.slots)
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
			oldest = max(oldest, t.Now().Sub(timeOf(first)).Seconds())
		}
		return err
	}, "SELECT tenant, state, attention, count(*), min(made) FROM husk_runs WHERE state IN ('queued', 'running', 'waiting')"+of+" GROUP BY tenant, state, attention", args...)
	return runs, oldest, err
}

// readMetrics reads all metrics at one time.
func (s *Server) readMetrics(ctx context.Context) ([]telemetry.Metric, error) {
	held := s.memory.Hold("")
	defer held.End()
	var g gauges
	err := s.db.step(intake.WithRoom(ctx, held.Add), func(t *tx) error { return s.gauges(t, &g) })
	if err != nil {
		return nil, err
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	var all []telemetry.Metric
	for _, m := range metrics {
		m.Points = m.points(&g, s.counts)
		all = append(all, m.Metric)
	}
	all = append(all, telemetry.Metric{Name: "husk.memory.used", Unit: "By", About: "Memory that requests and answers take.", Points: telemetry.One(s.memory.InUse())},
		telemetry.Metric{Name: "husk.memory.limit", Unit: "By", About: "The most of it, of which one team gets three quarters.", Points: telemetry.One(s.memory.Most())})
	all = slices.Concat(all, s.requests.Metrics(), telemetry.Pool(s.db.Stats()), telemetry.Process(s.counts.since))
	if s.options.Metrics != nil {
		all = append(all, s.options.Metrics()...)
	}
	return all, nil
}

// status returns the state of the server, for a tenant or for all.
func (s *Server) status(ctx context.Context, tenant string) (*runapi.Status, error) {
	const lately = time.Hour
	now := s.db.Now()
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

const (
	// exportInterval is the time between two exports unless the environment has another: see OTEL_METRIC_EXPORT_INTERVAL of the
	// specification of OpenTelemetry.
	exportInterval = time.Minute
	// readTime bounds the time in which metrics are read for an export.
	readTime = 5 * time.Second
	// lastExport bounds the time of the last one, which the end of the server waits for.
	lastExport = 5 * time.Second
)

// Collector is where a server sends its metrics: see [OpenCollector].
type Collector struct {
	resource []otlp.Attribute
	interval time.Duration
	send     otlp.Send
}

// OpenCollector returns the collector for metrics that the environment variables of OpenTelemetry ask for, nil for none: one
// whose endpoint they have, or with OTEL_METRICS_EXPORTER=otlp the one of this machine.
func OpenCollector(env otlp.Environment, version string) (*Collector, error) {
	const variable = "OTEL_METRICS_EXPORTER"
	wanted := otlp.Metrics.Named(env)
	if text := env(variable); text != "" {
		wanted = false
		for name := range strings.SplitSeq(text, ",") {
			switch strings.TrimSpace(name) {
			case "otlp":
				wanted = true
			case "none", "prometheus": // which --metrics is for
			default:
				return nil, fmt.Errorf("%s is %q; it is otlp or none", variable, text)
			}
		}
	}
	if !wanted || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	c := &Collector{interval: exportInterval}
	if text := env("OTEL_METRIC_EXPORT_INTERVAL"); text != "" {
		var err error
		if c.interval, err = otlp.Milliseconds("OTEL_METRIC_EXPORT_INTERVAL", text); err != nil {
			return nil, err
		}
		if c.interval == 0 {
			return nil, errors.New("OTEL_METRIC_EXPORT_INTERVAL is 0; it is the number of milliseconds between two exports")
		}
	}
	var err error
	if c.send, err = otlp.Open(env, otlp.Metrics); err != nil {
		return nil, fmt.Errorf("%w; with %s=none, no metrics are sent", err, variable)
	}
	// Several servers of one database are several.
	c.resource = otlp.Resource(env, otlp.Attribute{Key: "service.version", Value: version}, otlp.Attribute{Key: "service.instance.id", Value: rand.Text()})
	return c, nil
}

// export sends metrics at times, and once more when done is closed. Each sending has all that the server has counted, so
// that nothing is lost by one that fails.
func (s *Server) export(c *Collector, done <-chan struct{}) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		select {
		case <-done:
			stop() // one that is under way is not waited for
		case <-ctx.Done():
		}
	}()
	ticks := time.NewTicker(c.interval)
	defer ticks.Stop()
	failing := false
	for {
		select {
		case <-done:
			ctx, stop := context.WithTimeout(context.Background(), lastExport)
			defer stop()
			if err := s.exportOnce(ctx, c); err != nil {
				slog.Warn("the last metrics could not be sent to the collector", "error", err)
			}
			return
		case <-ticks.C:
		}
		switch err := s.exportOnce(ctx, c); {
		case err != nil && ctx.Err() == nil && !failing:
			failing = true
			slog.Warn("metrics cannot be sent to the collector, which is tried again", "error", err)
		case err == nil && failing:
			failing = false
			slog.Info("metrics are sent to the collector again")
		}
	}
}

func (s *Server) exportOnce(ctx context.Context, c *Collector) error {
	reading, stop := context.WithTimeout(ctx, readTime)
	defer stop()
	all, err := s.readMetrics(reading)
	if err != nil {
		return err
	}
	text, err := otlp.Request(otlp.Metrics, c.resource, telemetry.Exported(s.counts.since, time.Now(), all))
	if err != nil {
		return err
	}
	return c.send(ctx, text)
}

// Metrics returns the handler for Prometheus. It is about all tenants, and asks for no token.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := s.readMetrics(r.Context())
		if err != nil {
			http.Error(w, "the database cannot be reached", http.StatusServiceUnavailable)
			return
		}
		var text bytes.Buffer
		for _, m := range all {
			m.WritePrometheus(&text)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(text.Bytes())
	})
}

// traceRun records a run that has ended, within the span that asked for it. Its worker's spans are within this one.
func (s *Server) traceRun(r *record) {
	if s.options.Trace == nil {
		return
	}
	failure := ""
	if r.State != runapi.Succeeded {
		failure = string(r.State)
	}
	id, parent := r.Span()
	s.options.Trace.Record(id, parent, "run "+r.Operation, r.Made, r.Ended, failure,
		trace.Attribute{Key: "husk.run", Value: r.ID}, trace.Attribute{Key: "husk.team", Value: r.tenant},
		trace.Attribute{Key: "husk.project", Value: r.Project}, trace.Attribute{Key: "husk.stack", Value: r.Stack},
		trace.Attribute{Key: "husk.state", Value: string(r.State)}, trace.Attribute{Key: "husk.worker", Value: r.Worker},
		trace.Attribute{Key: "husk.attempts", Value: r.Attempt})
}

// traceWait records how long a run has waited for its first worker.
func (s *Server) traceWait(r *runapi.Run) {
	if s.options.Trace == nil {
		return
	}
	parent, _ := r.Span()
	s.options.Trace.Record(trace.IDOf("husk wait "+r.ID, parent), parent, "wait", r.Made, r.Began, "")
}
