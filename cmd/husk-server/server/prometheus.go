package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

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
