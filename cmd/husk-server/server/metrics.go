package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"encoding/json"

	"github.com/husk-dev/husk/internal/runapi"
)

// metrics are what this server has counted since it started.
type metrics struct {
	refused, lost atomic.Int64

	mu    sync.Mutex
	ends  map[[2]string]int64 // by operation and state
	waits histogram
	times map[string]*histogram // by operation
}

// bounds are those of the buckets of histograms, in seconds.
var bounds = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

type histogram struct {
	counts []int64
	sum    float64
	n      int64
}

func (h *histogram) add(seconds float64) {
	if h.counts == nil {
		h.counts = make([]int64, len(bounds))
	}
	for i, bound := range bounds {
		if seconds <= bound {
			h.counts[i]++
		}
	}
	h.sum += seconds
	h.n++
}

func (h *histogram) write(w io.Writer, name, labels string) {
	more := ""
	if labels != "" {
		more, labels = labels+",", "{"+labels+"}"
	}
	for i, bound := range bounds {
		n := int64(0)
		if h.counts != nil {
			n = h.counts[i]
		}
		fmt.Fprintf(w, "%s_bucket{%sle=\"%v\"} %d\n", name, more, bound, n)
	}
	fmt.Fprintf(w, "%s_bucket{%sle=\"+Inf\"} %d\n%s_sum%s %g\n%s_count%s %d\n", name, more, h.n, name, labels, h.sum, name, labels, h.n)
}

func (m *metrics) wait(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits.add(d.Seconds())
}

func (m *metrics) end(r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends == nil {
		m.ends, m.times = make(map[[2]string]int64), make(map[string]*histogram)
	}
	m.ends[[2]string{r.Operation, string(r.State)}]++
	if r.Began.IsZero() {
		return
	}
	h := m.times[r.Operation]
	if h == nil {
		h = &histogram{}
		m.times[r.Operation] = h
	}
	h.add(r.Ended.Sub(r.Began).Seconds())
}

// Metrics returns what answers Prometheus. It is about all tenants, and asks for no token.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		if err := s.writeMetrics(r.Context(), &text); err != nil {
			http.Error(w, "the database cannot be reached", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(text.Bytes())
	})
}

// writeMetrics writes what Prometheus reads.
func (s *Server) writeMetrics(ctx context.Context, w io.Writer) error {
	status, err := s.status(ctx, everyTenant)
	if err != nil {
		return err
	}
	head := func(name, kind, help string) { fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind) }
	head("husk_runs", "gauge", "Runs that are not final, by state.")
	for _, state := range []runapi.State{runapi.Queued, runapi.Running, runapi.Waiting} {
		fmt.Fprintf(w, "husk_runs{state=%q} %d\n", string(state), status.Runs[state])
	}
	head("husk_oldest_queued_seconds", "gauge", "How long the oldest queued run has waited.")
	fmt.Fprintf(w, "husk_oldest_queued_seconds %g\n", status.Oldest)
	slots, running := 0, 0
	for _, worker := range status.Workers {
		slots, running = slots+worker.Slots, running+worker.Running
	}
	head("husk_workers", "gauge", "Workers that were heard of in the last two minutes.")
	fmt.Fprintf(w, "husk_workers %d\n", len(status.Workers))
	head("husk_worker_slots", "gauge", "Runs that these workers take at once.")
	fmt.Fprintf(w, "husk_worker_slots %d\n", slots)
	head("husk_refused_total", "counter", "Requests that were refused.")
	fmt.Fprintf(w, "husk_refused_total %d\n", s.metrics.refused.Load())
	head("husk_workers_lost_total", "counter", "Runs whose worker was lost.")
	fmt.Fprintf(w, "husk_workers_lost_total %d\n", s.metrics.lost.Load())
	m := s.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	head("husk_runs_ended_total", "counter", "Runs that ended, by operation and state.")
	for _, key := range slices.SortedFunc(maps.Keys(m.ends), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		fmt.Fprintf(w, "husk_runs_ended_total{operation=%q,state=%q} %d\n", key[0], key[1], m.ends[key])
	}
	head("husk_wait_seconds", "histogram", "How long runs waited for a worker.")
	m.waits.write(w, "husk_wait_seconds", "")
	head("husk_run_seconds", "histogram", "How long runs took, by operation.")
	for _, operation := range slices.Sorted(maps.Keys(m.times)) {
		m.times[operation].write(w, "husk_run_seconds", fmt.Sprintf("operation=%q", operation))
	}
	return nil
}

// status returns what the server does, for a tenant or for all.
func (s *Server) status(ctx context.Context, tenant string) (*runapi.Status, error) {
	const present, lately = 2 * time.Minute, time.Hour
	now := time.Now()
	out := &runapi.Status{
		Version: s.options.Version, Database: "sqlite", Runs: map[runapi.State]int{}, Last: map[runapi.State]int{}, Workers: []runapi.WorkerStatus{}, Waits: map[string]runapi.Wait{},
	}
	if s.db.postgres {
		out.Database = "postgres"
	}
	all := 0
	if tenant == everyTenant {
		all = 1
	}
	err := s.db.step(ctx, func(t *tx) error {
		var oldest int64
		err := t.rows(func(scan func(...any) error) error {
			var state runapi.State
			var n int
			var first int64
			if err := scan(&state, &n, &first); err != nil {
				return err
			}
			if out.Runs[state] = n; state == runapi.Queued {
				oldest = first
			}
			return nil
		}, "SELECT state, count(*), min(made) FROM husk_runs WHERE state IN ('queued', 'running', 'waiting') AND (tenant = ? OR 1 = ?) GROUP BY state", tenant, all)
		if err != nil {
			return err
		}
		if oldest > 0 {
			out.Oldest = now.Sub(timeOf(oldest)).Seconds()
		}
		var waits, times []float64
		err = t.rows(func(scan func(...any) error) error {
			var state runapi.State
			var made, began, ended int64
			if err := scan(&state, &made, &began, &ended); err != nil {
				return err
			}
			out.Last[state]++
			if began > 0 {
				waits, times = append(waits, float64(began-made)/1000), append(times, float64(ended-began)/1000)
			}
			return nil
		}, "SELECT state, made, began, ended FROM husk_runs WHERE ended > ? AND (tenant = ? OR 1 = ?)", millis(now.Add(-lately)), tenant, all)
		if err != nil {
			return err
		}
		out.Waits["queued"], out.Waits["running"] = quantiles(waits), quantiles(times)
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

func quantiles(all []float64) runapi.Wait {
	if len(all) == 0 {
		return runapi.Wait{}
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[int(q*float64(len(all)-1))] }
	return runapi.Wait{Median: at(.5), P99: at(.99)}
}
