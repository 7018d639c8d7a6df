// Package telemetry has metrics in the forms of Prometheus and of collectors of OpenTelemetry, and counts what any server has:
// requests, its process, and connections to its database.
package telemetry

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/otlp"
)

// Kind says how a metric is aggregated.
type Kind int

const (
	// Gauge is a value of now.
	Gauge Kind = iota
	// Counter and Durations begin when the server starts.
	Counter
	Durations
)

// Metric is a metric for Prometheus and for collectors of OpenTelemetry.
type Metric struct {
	// Name and Unit are the ones in OpenTelemetry. Prometheus has them as a collector translates them: see [Metric.prometheus].
	Name, Unit, About string
	Kind              Kind
	// Labels are the names of the labels that tell the points apart. Points have their values.
	Labels []string
	Points []Point
}

// Point is a value of a metric.
type Point struct {
	Labels []string
	Number float64
	// Times is the value of [Durations].
	Times Histogram
}

// One returns the points of a metric without labels.
func One[N int | int64 | uint64 | float64](number N) []Point {
	return []Point{{Number: float64(number)}}
}

// Bounds are the upper bounds of the buckets of a histogram, in seconds.
type Bounds [11]float64

// Histogram counts times by bucket. The last bucket is for times above all bounds.
type Histogram struct {
	Bounds *Bounds
	counts [len(Bounds{}) + 1]int64
	sum    float64
	n      int64
}

// Add counts a time.
func (h *Histogram) Add(d time.Duration) {
	i, _ := slices.BinarySearch(h.Bounds[:], d.Seconds())
	h.counts[i]++
	h.sum += d.Seconds()
	h.n++
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

// Exported returns metrics for [otlp.Request]. Counts began at a time.
func Exported(since, now time.Time, all []Metric) any {
	out := []metricJSON{}
	for _, m := range all {
		if len(m.Points) == 0 {
			continue // nothing was counted yet
		}
		data := &dataJSON{}
		for _, p := range m.Points {
			data.Points = append(data.Points, m.point(p, since, now))
		}
		one := metricJSON{Name: m.Name, Description: m.About, Unit: m.Unit}
		switch m.Kind {
		case Gauge:
			one.Gauge = data
		case Counter:
			data.Temporality, data.Monotonic, one.Sum = cumulative, true, data
		case Durations:
			data.Temporality, one.Histogram = cumulative, data
		}
		out = append(out, one)
	}
	return out
}

func (m *Metric) point(p Point, since, now time.Time) pointJSON {
	out := pointJSON{Time: otlp.Nanos(now)}
	for i, label := range m.Labels {
		out.Attributes = append(out.Attributes, otlp.Attributes([]otlp.Attribute{{Key: label, Value: p.Labels[i]}})...)
	}
	if m.Kind != Gauge {
		out.Start = otlp.Nanos(since)
	}
	if m.Kind != Durations {
		out.Number = &p.Number
		return out
	}
	out.Count, out.Sum, out.Bounds = strconv.FormatInt(p.Times.n, 10), &p.Times.sum, p.Times.Bounds[:]
	for _, n := range p.Times.counts {
		out.Counts = append(out.Counts, strconv.FormatInt(n, 10))
	}
	return out
}

// prometheus returns the name of the metric for Prometheus, as the specification of OpenTelemetry translates it: a unit is at
// the end, and the name of a counter says that it is one.
func (m *Metric) prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	name += map[string]string{"s": "_seconds", "By": "_bytes"}[m.Unit]
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// WritePrometheus writes the points of a metric in the text format of Prometheus.
func (m *Metric) WritePrometheus(w io.Writer) {
	name := m.prometheus()
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, m.About, map[Kind]string{Gauge: "gauge", Counter: "counter", Durations: "histogram"}[m.Kind])
	for _, p := range m.Points {
		var pairs []string
		for i, label := range m.Labels {
			pairs = append(pairs, fmt.Sprintf("%s=%q", strings.ReplaceAll(label, ".", "_"), p.Labels[i]))
		}
		labels := braced(pairs)
		if m.Kind != Durations {
			fmt.Fprintf(w, "%s%s %s\n", name, labels, decimal(p.Number))
			continue
		}
		n := int64(0)
		for i, bound := range p.Times.Bounds {
			n += p.Times.counts[i]
			fmt.Fprintf(w, "%s_bucket%s %d\n", name, braced(append(pairs[:len(pairs):len(pairs)], fmt.Sprintf("le=%q", decimal(bound)))), n)
		}
		fmt.Fprintf(w, "%s_bucket%s %d\n", name, braced(append(pairs[:len(pairs):len(pairs)], `le="+Inf"`)), p.Times.n)
		fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, labels, decimal(p.Times.sum), name, labels, p.Times.n)
	}
}

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func braced(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}
