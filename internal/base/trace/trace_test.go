package trace_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/trace"
)

func environment(variables map[string]string) trace.Environment {
	return func(name string) string { return variables[name] }
}

// exported has what of OTLP's JSON the tests look at.
type exported struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct{ Spans []span }
	}
}

type attribute struct {
	Key   string
	Value map[string]any
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []attribute
	Events                              []struct{ Name string }
	Status                              struct {
		Message string
		Code    int
	}
}

func TestTraceparent(t *testing.T) {
	const text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	id, ok := trace.ParseTraceparent(text)
	require.True(t, ok)
	require.Equal(t, text, id.Traceparent())
	for _, wrong := range []string{
		"", "x", strings.ToUpper(text), "ff" + text[2:], text + "-x", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", strings.Replace(text, "0a", "0g", 1),
	} {
		_, ok := trace.ParseTraceparent(wrong)
		require.False(t, ok, wrong)
	}
	_, ok = trace.ParseTraceparent("01" + text[2:] + "-of a later version")
	require.True(t, ok)
}

func TestSpans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	e, err := trace.Open(file, environment(map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "team=a%20b, service.name=no, service.version=2", "OTEL_SERVICE_NAME": "deploys"}),
		trace.Attribute{Key: "service.version", Value: "1"})
	require.NoError(t, err)
	parent, _ := trace.ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	run := trace.NewTracer(e).Start(parent, "run", trace.Internal)
	var all sync.WaitGroup
	for i := range 1200 {
		all.Go(func() {
			s := run.Start("step", trace.Client, trace.Attribute{Key: "n", Value: i})
			s.Set(trace.Attribute{Key: "big", Value: uint64(1) << 63}, trace.Attribute{Key: "yes", Value: true})
			if i == 7 {
				s.Fail("broken")
				s.Happened("warning")
			}
			s.End()
			s.End() // once is enough
		})
	}
	all.Wait()
	run.End()
	require.NoError(t, e.Close())

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var spans []span
	for line := range strings.Lines(string(text)) {
		var x exported
		require.NoError(t, json.Unmarshal([]byte(line), &x))
		require.Equal(t, []attribute{
			{"service.name", map[string]any{"stringValue": "deploys"}}, {"service.version", map[string]any{"stringValue": "2"}}, {"team", map[string]any{"stringValue": "a b"}},
		}, x.ResourceSpans[0].Resource.Attributes)
		spans = append(spans, x.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	require.Len(t, spans, 1201)
	root := spans[len(spans)-1]
	require.Equal(t, "b7ad6b7169203331", root.ParentSpanID)
	for _, s := range spans[:1200] {
		require.Equal(t, root.SpanID, s.ParentSpanID)
		require.Equal(t, "0af7651916cd43dd8448eb211c80319c", s.TraceID)
		require.Equal(t, map[string]any{"intValue": "9223372036854775808"}, s.Attributes[1].Value)
		require.Equal(t, map[string]any{"boolValue": true}, s.Attributes[2].Value)
		if s.Attributes[0].Value["intValue"] == "7" {
			require.Equal(t, "broken", s.Status.Message)
			require.Equal(t, 2, s.Status.Code)
			require.Equal(t, "warning", s.Events[0].Name)
		} else {
			require.Zero(t, s.Status.Code)
		}
	}
	var none *trace.Span
	none.Start("nothing", trace.Internal).End()
	none.Fail("nothing")
}

func TestCollector(t *testing.T) {
	var requests []*http.Request
	var bodies []string
	status := 200
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests, bodies = append(requests, r), append(bodies, string(body))
		if status == 0 {
			<-hang
		}
		w.WriteHeader(max(status, 200))
	}))
	defer server.Close()
	defer close(hang)
	send := func(variables map[string]string) error {
		e, err := trace.Open(trace.OTLP, environment(variables))
		require.NoError(t, err)
		trace.NewTracer(e).Start(trace.ID{}, "run", trace.Internal).End()
		return e.Close()
	}
	require.NoError(t, send(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/otel/", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, b=c"}))
	require.Equal(t, "/otel/v1/traces", requests[0].URL.Path)
	require.Equal(t, "Bearer x", requests[0].Header.Get("Authorization"))
	require.Equal(t, "c", requests[0].Header.Get("B"))
	require.Equal(t, "application/json", requests[0].Header.Get("Content-Type"))
	require.Contains(t, bodies[0], `"name":"run"`)
	require.NoError(t, send(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": server.URL + "/here"}))
	require.Equal(t, "/here", requests[1].URL.Path)

	status = 500
	require.EqualError(t, send(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}), "1 span was lost: "+server.URL+"/v1/traces answered 500 Internal Server Error")
	status = 0
	require.ErrorContains(t, send(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_TIMEOUT": "50"}), "1 span was lost: ")
	require.ErrorContains(t, send(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}), "1 span was lost: ")

	for want, variables := range map[string]map[string]string{
		"husk sends http/json":            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		`the endpoint "localhost:4317/v1`: {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"},
		"it is a number of milliseconds":  {"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"},
		"the header a is not escaped":     {"OTEL_EXPORTER_OTLP_HEADERS": "a=%zz"},
	} {
		_, err := trace.Open(trace.OTLP, environment(variables))
		require.ErrorContains(t, err, want)
	}
	_, err := trace.Open("http://localhost:4318", environment(nil))
	require.EqualError(t, err, "http://localhost:4318 is not a file; for a collector, set OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 and give otlp")
	_, err = trace.Open(filepath.Join(t.TempDir(), "none", "trace.jsonl"), environment(nil))
	require.ErrorIs(t, err, os.ErrNotExist)
}
