package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/otlp"
	"github.com/husk-dev/husk/internal/base/trace"
)

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
	text, err := otlp.Request(otlp.Metrics, c.resource, exported(s.counts.since, time.Now(), all))
	if err != nil {
		return err
	}
	return c.send(ctx, text)
}

// The JSON of OTLP, for [otlp.Request]. Integers of 64 bits are texts.
type (
	// metricJSON has one of the last three.
	metricJSON struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Unit        string    `json:"unit"`
		Gauge       *dataJSON `json:"gauge,omitempty"`
		Sum         *dataJSON `json:"sum,omitempty"`
		Histogram   *dataJSON `json:"histogram,omitempty"`
	}
	dataJSON struct {
		Temporality int         `json:"aggregationTemporality,omitempty"`
		Monotonic   bool        `json:"isMonotonic,omitempty"`
		Points      []pointJSON `json:"dataPoints"`
	}
	pointJSON struct {
		Attributes []otlp.KeyValue `json:"attributes,omitempty"`
		Start      string          `json:"startTimeUnixNano,omitempty"`
		Time       string          `json:"timeUnixNano"`
		// Number is the value, but of a histogram, which has what follows.
		Number *float64  `json:"asDouble,omitempty"`
		Count  string    `json:"count,omitempty"`
		Sum    *float64  `json:"sum,omitempty"`
		Counts []string  `json:"bucketCounts,omitempty"`
		Bounds []float64 `json:"explicitBounds,omitempty"`
	}
)

// cumulative is the temporality of counts since a time that stays the same.
const cumulative = 2

func exported(since, now time.Time, all reading) (out []metricJSON) {
	for i, m := range metrics {
		if len(all[i]) == 0 {
			continue // nothing was counted yet
		}
		data := &dataJSON{}
		for _, p := range all[i] {
			data.Points = append(data.Points, m.point(p, since, now))
		}
		one := metricJSON{Name: m.name, Description: m.about, Unit: m.unit}
		switch m.kind {
		case gauge:
			one.Gauge = data
		case counter:
			data.Temporality, data.Monotonic, one.Sum = cumulative, true, data
		case durations:
			data.Temporality, one.Histogram = cumulative, data
		}
		out = append(out, one)
	}
	return out
}

func (m *metric) point(p point, since, now time.Time) pointJSON {
	out := pointJSON{Time: otlp.Nanos(now)}
	for i, label := range m.labels {
		out.Attributes = append(out.Attributes, otlp.Attributes([]otlp.Attribute{{Key: label, Value: p.labels[i]}})...)
	}
	if m.kind != gauge {
		out.Start = otlp.Nanos(since)
	}
	if m.kind != durations {
		out.Number = &p.number
		return out
	}
	out.Count, out.Sum, out.Bounds = strconv.FormatInt(p.times.n, 10), &p.times.sum, bounds
	for _, n := range p.times.counts {
		out.Counts = append(out.Counts, strconv.FormatInt(n, 10))
	}
	return out
}

// Metrics returns what answers Prometheus. It is about all tenants, and asks for no token.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := s.readMetrics(r.Context())
		if err != nil {
			http.Error(w, "the database cannot be reached", http.StatusServiceUnavailable)
			return
		}
		var text bytes.Buffer
		for i, m := range metrics {
			m.writePrometheus(&text, all[i])
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(text.Bytes())
	})
}

// prometheus returns the name of the metric for Prometheus, as the specification of OpenTelemetry translates it: a unit is at
// the end, and the name of a counter says that it is one.
func (m *metric) prometheus() string {
	name := strings.ReplaceAll(m.name, ".", "_")
	if m.unit == "s" {
		name += "_seconds"
	}
	if m.kind == counter {
		name += "_total"
	}
	return name
}

// writePrometheus writes the points of a metric in the text format of Prometheus.
func (m *metric) writePrometheus(w io.Writer, points []point) {
	name := m.prometheus()
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, m.about, map[kind]string{gauge: "gauge", counter: "counter", durations: "histogram"}[m.kind])
	for _, p := range points {
		var pairs []string
		for i, label := range m.labels {
			pairs = append(pairs, fmt.Sprintf("%s=%q", label, p.labels[i]))
		}
		labels := braced(pairs)
		if m.kind != durations {
			fmt.Fprintf(w, "%s%s %s\n", name, labels, decimal(p.number))
			continue
		}
		n := int64(0)
		for i, bound := range bounds {
			n += p.times.counts[i]
			fmt.Fprintf(w, "%s_bucket%s %d\n", name, braced(append(pairs[:len(pairs):len(pairs)], fmt.Sprintf("le=%q", decimal(bound)))), n)
		}
		fmt.Fprintf(w, "%s_bucket%s %d\n", name, braced(append(pairs[:len(pairs):len(pairs)], `le="+Inf"`)), p.times.n)
		fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, labels, decimal(p.times.sum), name, labels, p.times.n)
	}
}

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func braced(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
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
