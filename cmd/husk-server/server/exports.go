package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
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
