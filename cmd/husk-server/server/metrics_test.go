package server_test

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	pb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/otlp"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// scrape returns what Prometheus gets.
func (b *bench) scrape() string {
	b.t.Helper()
	h := httptest.NewServer(b.server.Metrics())
	defer h.Close()
	resp, err := http.Get(h.URL)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return string(text)
}

func TestMetrics(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	text := b.scrape()
	for _, want := range []string{
		`husk_runs{state="queued"} 1`, `husk_runs_ended_total{operation="up",state="succeeded"} 1`, "husk_wait_seconds_count 1", "husk_workers 1", `husk_run_seconds_bucket{operation="up",le="+Inf"} 1`,
	} {
		require.Contains(t, text, want+"\n")
	}
}

// What is read for metrics does not grow with the workers and the runs: their rows stay in the database.
func TestMetricsReadNoRows(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		worker := b.client("acme", "w", runapi.Work)
		for n := range 3 {
			require.Nil(t, b.next(worker, fmt.Sprint("w", n), nil))
		}
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_workers SET labels = 'these cannot be read'"))
		require.Contains(t, b.scrape(), "husk_workers 3\n")
	})
}

// collector is one of OpenTelemetry, which has what was sent to it.
type collector struct {
	t   *testing.T
	url string
	// instead, if set, reports whether it has answered a request.
	instead func(http.ResponseWriter, *http.Request) bool

	mu       sync.Mutex
	requests []*http.Request
	got      []*pb.ResourceMetrics
	more     *sync.Cond
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.more = sync.NewCond(&c.mu)
	h := httptest.NewServer(c)
	t.Cleanup(h.Close)
	c.url = h.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.instead != nil && c.instead(w, r) {
		return
	}
	text, err := io.ReadAll(r.Body)
	var sent pb.MetricsData
	if err == nil {
		err = protojson.Unmarshal(text, &sent) // what it does not know is an error
	}
	if err != nil || len(sent.ResourceMetrics) != 1 || len(sent.ResourceMetrics[0].ScopeMetrics) != 1 {
		c.t.Errorf("a request that is none of OTLP: %v\n%s", err, text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.got = append(c.requests, r), append(c.got, sent.ResourceMetrics...)
	c.more.Broadcast()
}

// last waits until it has more than n exports, and returns the last.
func (c *collector) last(n int) *pb.ResourceMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.got) <= n {
		c.more.Wait()
	}
	return c.got[len(c.got)-1]
}

// all returns all exports.
func (c *collector) all() []*pb.ResourceMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got
}

func environment(pairs ...string) otlp.Environment {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// prometheus writes metrics as Prometheus would have them, with the names and units that they were sent with.
func prometheus(t *testing.T, sent *pb.ResourceMetrics) string {
	var b strings.Builder
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	labels := func(list []*common.KeyValue, more ...string) string {
		all := more
		for i := len(list) - 1; i >= 0; i-- {
			all = append([]string{fmt.Sprintf("%s=%q", strings.ReplaceAll(list[i].Key, ".", "_"), list[i].Value.GetStringValue())}, all...)
		}
		if len(all) == 0 {
			return ""
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for _, m := range sent.ScopeMetrics[0].Metrics {
		name := strings.ReplaceAll(m.Name, ".", "_")
		switch m.Unit {
		case "s":
			name += "_seconds"
		case "By":
			name += "_bytes"
		default:
			require.Regexp(t, `^\{[a-z_]+\}$`, m.Unit, m.Name)
		}
		points, kind := m.GetGauge().GetDataPoints(), "gauge"
		if sum := m.GetSum(); sum != nil {
			require.True(t, sum.IsMonotonic, m.Name)
			require.Equal(t, pb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, sum.AggregationTemporality, m.Name)
			points, kind, name = sum.DataPoints, "counter", name+"_total"
		}
		if m.GetHistogram() != nil {
			kind = "histogram"
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, m.Description, kind)
		for _, p := range points {
			require.NotZero(t, p.TimeUnixNano, m.Name)
			require.Equal(t, kind == "gauge", p.StartTimeUnixNano == 0, m.Name)
			fmt.Fprintf(&b, "%s%s %s\n", name, labels(p.Attributes), decimal(p.GetAsDouble()))
		}
		if m.GetHistogram() == nil {
			continue
		}
		require.Equal(t, pb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, m.GetHistogram().AggregationTemporality, m.Name)
		for _, p := range m.GetHistogram().DataPoints {
			require.NotZero(t, p.StartTimeUnixNano, m.Name)
			require.Len(t, p.BucketCounts, len(p.ExplicitBounds)+1, m.Name)
			n := uint64(0)
			for i, count := range p.BucketCounts {
				n += count
				bound := "+Inf"
				if i < len(p.ExplicitBounds) {
					bound = decimal(p.ExplicitBounds[i])
				}
				fmt.Fprintf(&b, "%s_bucket%s %d\n", name, labels(p.Attributes, fmt.Sprintf("le=%q", bound)), n)
			}
			require.Equal(t, p.Count, n, m.Name)
			fmt.Fprintf(&b, "%s_sum%s %s\n%s_count%s %d\n", name, labels(p.Attributes), decimal(p.GetSum()), name, labels(p.Attributes), p.Count)
		}
	}
	return b.String()
}

// A collector gets what Prometheus gets, with the last values when the server ends.
func TestMetricsForACollector(t *testing.T) {
	c := newCollector(t)
	to, err := server.OpenCollector(environment("OTEL_EXPORTER_OTLP_ENDPOINT", c.url, "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x",
		"OTEL_SERVICE_NAME", "deploys", "OTEL_RESOURCE_ATTRIBUTES", "region=eu"), "1.2.3")
	require.NoError(t, err)
	var last string
	t.Run("a server", func(t *testing.T) {
		b := open(t, server.Options{Collector: to})
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		for _, end := range []runapi.State{runapi.Succeeded, runapi.Failed, runapi.Succeeded} {
			b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
			require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: end}))
		}
		b.asked(ann, runapi.NewRun{Project: "a", Stack: "s", Operation: "destroy"})
		require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
		last = b.scrape()
	})
	require.Len(t, c.got, 1, "the server ended within the minute between two exports")
	ofRuns := func(text string) string { return text[:strings.Index(text, "# HELP husk_memory_used_bytes ")] } // the rest is about now
	require.Equal(t, ofRuns(last), ofRuns(prometheus(t, c.got[0])))
	require.Contains(t, last, `husk_runs_ended_total{operation="up",state="failed"} 1`)
	require.Equal(t, "/v1/metrics", c.requests[0].URL.Path)
	require.Equal(t, "Bearer x", c.requests[0].Header.Get("Authorization"))
	require.Equal(t, "application/json", c.requests[0].Header.Get("Content-Type"))
	attributes := map[string]string{}
	for _, a := range c.got[0].Resource.Attributes {
		attributes[a.Key] = a.Value.GetStringValue()
	}
	require.Len(t, attributes["service.instance.id"], 26)
	delete(attributes, "service.instance.id")
	require.Equal(t, map[string]string{"service.name": "deploys", "service.version": "1.2.3", "region": "eu"}, attributes)
}

// What a collector that failed has not got, it gets with the next export. It is warned of once.
func TestMetricsAreSentAgain(t *testing.T) {
	logged := logs(t)
	c := newCollector(t)
	var refused atomic.Int64
	var answers atomic.Bool
	c.instead = func(w http.ResponseWriter, _ *http.Request) bool {
		if answers.Load() {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		refused.Add(1)
		return true
	}
	to, err := server.OpenCollector(environment("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.url+"/here", "OTEL_METRIC_EXPORT_INTERVAL", "5"), "1")
	require.NoError(t, err)
	b := open(t, server.Options{Collector: to})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
	refused.Store(0) // the next may have been read before the run ended
	for refused.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	answers.Store(true)
	first := c.last(0)
	require.Contains(t, prometheus(t, first), `husk_runs_ended_total{operation="up",state="succeeded"} 1`+"\n")
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	for !strings.Contains(prometheus(t, c.last(len(c.all()))), `husk_runs{state="queued"} 1`+"\n") {
	}
	require.Equal(t, "/here", c.requests[0].URL.Path)
	said := logged.take()
	require.Equal(t, 1, strings.Count(said, "metrics cannot be sent to the collector"), said)
	require.Contains(t, said, "/here answered 503 Service Unavailable")
	require.Equal(t, 1, strings.Count(said, "metrics are sent to the collector again"), said)
}

// A collector that is down, or that does not answer, hinders nothing, neither runs nor the end of the server.
func TestCollectorsThatAreGone(t *testing.T) {
	logged := logs(t)
	hanging, asked, end := newCollector(t), make(chan struct{}, 1000), make(chan struct{})
	defer close(end)
	hanging.instead = func(http.ResponseWriter, *http.Request) bool {
		asked <- struct{}{}
		<-end
		return true
	}
	for _, url := range []string{hanging.url, "http://127.0.0.1:1"} {
		to, err := server.OpenCollector(environment("OTEL_EXPORTER_OTLP_ENDPOINT", url, "OTEL_METRIC_EXPORT_INTERVAL", "5"), "1")
		require.NoError(t, err)
		t.Run(url, func(t *testing.T) {
			b := open(t, server.Options{Collector: to})
			if url == hanging.url {
				<-asked
			}
			ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
			b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
			require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
			require.Contains(t, b.scrape(), "husk_wait_seconds_count 1\n")
		})
		require.Contains(t, logged.take(), "the last metrics could not be sent to the collector", url)
	}
}

// docs/runners.md has all metrics, with their names and units.
func TestMetricsAreDescribed(t *testing.T) {
	described, err := os.ReadFile(filepath.FromSlash("../../../docs/runners.md"))
	require.NoError(t, err)
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z._]+)` \\| `(\\S+)` \\| `(\\S+)` ").FindAllStringSubmatch(string(described), -1) {
		if !strings.HasPrefix(row[1], "husk.certificate.") { // which package certificate compares
			rows[row[1]+" "+row[2]+" "+row[3]] = true
		}
	}
	c := newCollector(t)
	to, err := server.OpenCollector(environment("OTEL_EXPORTER_OTLP_ENDPOINT", c.url), "1")
	require.NoError(t, err)
	t.Run("a server", func(t *testing.T) {
		b := open(t, server.Options{Collector: to})
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
		require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
	})
	sent := map[string]bool{}
	names := regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(prometheus(t, c.last(0)), -1)
	for i, m := range c.last(0).ScopeMetrics[0].Metrics {
		sent[m.Name+" "+m.Unit+" "+names[i][1]] = true
	}
	require.Equal(t, sent, rows)
}

// The environment says whether there is a collector, and what is wrong in it is refused.
func TestCollectorsOfTheEnvironment(t *testing.T) {
	const endpoint, at = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"
	for _, c := range []struct {
		environment []string
		is          bool
		wrong       string
	}{
		{environment: nil},
		{environment: []string{endpoint, at}, is: true},
		{environment: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", at}, is: true},
		{environment: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", at}},
		{environment: []string{"OTEL_METRICS_EXPORTER", "otlp"}, is: true},
		{environment: []string{"OTEL_METRICS_EXPORTER", "prometheus, otlp"}, is: true},
		{environment: []string{endpoint, at, "OTEL_METRICS_EXPORTER", "none"}},
		{environment: []string{endpoint, at, "OTEL_METRICS_EXPORTER", "prometheus"}},
		{environment: []string{endpoint, at, "OTEL_SDK_DISABLED", "true"}},
		{environment: []string{endpoint, at, "OTEL_METRICS_EXPORTER", "console"}, wrong: `OTEL_METRICS_EXPORTER is "console"; it is otlp or none`},
		{environment: []string{endpoint, at, "OTEL_METRIC_EXPORT_INTERVAL", "1s"}, wrong: `OTEL_METRIC_EXPORT_INTERVAL is "1s"; it is a number of milliseconds`},
		{environment: []string{endpoint, at, "OTEL_METRIC_EXPORT_INTERVAL", "0"}, wrong: "OTEL_METRIC_EXPORT_INTERVAL is 0"},
		{environment: []string{endpoint, at, "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "x"}, wrong: `OTEL_EXPORTER_OTLP_METRICS_TIMEOUT is "x"`},
		{environment: []string{endpoint, at, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, wrong: "OTEL_EXPORTER_OTLP_PROTOCOL is grpc; husk sends http/json: name a collector's port for HTTP, usually 4318; with OTEL_METRICS_EXPORTER=none, no metrics are sent"},
		{environment: []string{endpoint, "localhost:4317"}, wrong: `the endpoint "localhost:4317/v1/metrics" is not a URL`},
	} {
		got, err := server.OpenCollector(environment(c.environment...), "1")
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, c.environment)
			continue
		}
		require.NoError(t, err, c.environment)
		require.Equal(t, c.is, got != nil, c.environment)
	}
}

// countTrips listens in front of PostgreSQL, and counts how often it is asked something and an answer is waited for: clients end what
// they send at once by one message.
func countTrips(t *testing.T, to int) (port int, trips *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	trips = &atomic.Int64{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			database, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, database)
				_ = client.Close()
			}()
			go func() {
				_ = pass(bufio.NewReader(client), database, trips)
				_ = database.Close()
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, trips
}

// pass passes messages of a client on.
func pass(from *bufio.Reader, to io.Writer, trips *atomic.Int64) error {
	const sync, simple, lengthBytes = 'S', 'Q', 4
	for kind := 0; ; kind = 1 { // the first message has none
		header, err := from.Peek(kind + lengthBytes)
		if err != nil {
			return err
		}
		if kind > 0 && (header[0] == sync || header[0] == simple) {
			trips.Add(1)
		}
		if _, err := io.CopyN(to, from, int64(kind)+int64(binary.BigEndian.Uint32(header[kind:]))); err != nil {
			return err
		}
	}
}

// The most frequent requests wait for PostgreSQL a few times only.
func TestTripsToTheDatabase(t *testing.T) {
	p := postgrestest.Start(t)
	port, trips := countTrips(t, p.Port)
	b := open(t, server.Options{Database: p.URL("postgres", port)})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	var claim *runapi.Claim
	lines, sequence := 0, 0
	stack := fields{"Project": "shop", "Name": "s0"}
	lease := fields{"stack": stack, "lease": rand.Text()}
	call := func(name string, f fields) {
		t.Helper()
		status, answer := b.state(claim.Token, name, f)
		require.False(t, failed(status, answer), "%s: %d %s", name, status, answer)
	}
	const most = 200
	queued := 0
	for _, c := range []struct {
		what   string
		trips  int64
		before func()
		do     func()
	}{
		{"a question for a run that finds none", 3, nil, func() { require.Nil(t, b.next(worker, "w", nil)) }},
		{"a question for a run", 11, func() {
			b.asked(ann, runapi.NewRun{Project: "shop", Stack: fmt.Sprintf("s%d", queued)})
			queued++
		}, func() {
			is := b.next(worker, "w", nil)
			require.NotNil(t, is)
			if claim == nil {
				claim = is
			}
		}},
		{"a sign of life", 2, nil, func() {
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
			require.NoError(t, err)
		}},
		{"lines of a log", 2, nil, func() {
			var beat runapi.Beat
			for range 100 {
				lines++
				beat.Lines = append(beat.Lines, runapi.Line{Number: int64(lines), Stream: runapi.Out, Time: time.Now(), Text: "line"})
			}
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", beat, nil)
			require.NoError(t, err)
		}},
		{"the lock of a stack", 3, func() {
			if status, _ := b.state(claim.Token, "create", fields{"stack": stack, "call": rand.Text(), "content": []byte("{}")}); status == http.StatusOK {
				lease = lease.with(fields{"call": rand.Text(), "load": true})
			}
		}, func() { call("lease", lease) }},
		{"a sign of life of a lock", 2, nil, func() { call("beat", fields{"stack": stack, "lease": lease["lease"]}) }},
		{"a state", 2, nil, func() { call("load", fields{"stack": stack}) }},
		{"the record of a step", 3, nil, func() {
			sequence++
			call("append", fields{"stack": stack, "lease": lease["lease"], "call": rand.Text(), "sequence": sequence, "content": []byte("{}")})
		}},
		{"the status of a run", 3, nil, func() { b.run(ann, claim.ID) }},
	} {
		least := int64(most)
		for range most { // the server also asks on its own
			if c.before != nil {
				c.before()
			}
			before := trips.Load()
			c.do()
			if least = min(least, trips.Load()-before); least <= c.trips {
				break
			}
		}
		t.Logf("%s: %d", c.what, least)
		require.LessOrEqual(t, least, c.trips, c.what)
	}
	_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, nil)
	require.NoError(t, err)
	require.Len(t, b.log(ann, claim.ID), lines)
}
