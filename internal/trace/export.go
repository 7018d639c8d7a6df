package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// batchSize is the number of spans that are written at once, and maxWaiting that of those that wait for it. More are
	// lost, and counted.
	batchSize  = 500
	maxWaiting = 20_000
	// interval is the time after which a batch is written that is not full.
	interval = 5 * time.Second
	// lastWords bounds the time for what is left at the end.
	lastWords = 5 * time.Second
	// defaultTimeout bounds a request to a collector.
	defaultTimeout = 10 * time.Second
)

// Exporter writes spans in batches, in the background. Close writes the rest.
type Exporter struct {
	resource []Attribute
	write    func(ctx context.Context, request []byte) error
	close    func() error

	mu      sync.Mutex
	waiting []*Span
	lost    int
	// failure is the first error of writing.
	failure error
	full    chan struct{}
	done    chan struct{}
	stopped chan struct{}
	cancel  context.CancelFunc
	ctx     context.Context
}

// Environment returns the value of an environment variable, "" for none.
type Environment func(name string) string

// OTLP is the destination that stands for the collector of the environment.
const OTLP = "otlp"

// Open returns an exporter to a file, or with [OTLP] to a collector by OTLP over HTTP, as the environment variables of
// OpenTelemetry say. A file gets a line of JSON for each batch, an ExportTraceServiceRequest as the collector's own file
// exporter writes it.
func Open(destination string, env Environment, resource ...Attribute) (*Exporter, error) {
	e := &Exporter{full: make(chan struct{}, 1), done: make(chan struct{}), stopped: make(chan struct{}), close: func() error { return nil }}
	e.resource = append([]Attribute{{"service.name", cmp.Or(env("OTEL_SERVICE_NAME"), "husk")}}, resource...)
	for pair := range strings.SplitSeq(env("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			if text, err := url.PathUnescape(value); err == nil && key != "service.name" {
				e.resource = append(e.resource, Attribute{key, text})
			}
		}
	}
	var err error
	switch {
	case destination == OTLP:
		e.write, err = collector(env)
	case strings.Contains(destination, "://"):
		err = fmt.Errorf("%s is no file; for a collector, set OTEL_EXPORTER_OTLP_ENDPOINT=%s and give otlp", destination, destination)
	default:
		var file *os.File
		if file, err = os.OpenFile(destination, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			e.close = file.Close
			e.write = func(_ context.Context, request []byte) error {
				_, err := file.Write(append(request, '\n'))
				return err
			}
		}
	}
	if err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return e, nil
}

// collector returns what sends to the collector that the environment names.
func collector(env Environment) (func(context.Context, []byte) error, error) {
	if protocol := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %s; husk sends http/json: name a collector's port for HTTP, usually 4318", protocol)
	}
	endpoint := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" {
		endpoint = strings.TrimRight(cmp.Or(env("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), "/") + "/v1/traces"
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is not a URL such as http://localhost:4318: see OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	}
	header := http.Header{}
	for pair := range strings.SplitSeq(cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), env("OTEL_EXPORTER_OTLP_HEADERS")), ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			text, err := url.PathUnescape(value)
			if err != nil {
				return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: the header %s is not escaped as in a URL", key)
			}
			header.Set(strings.TrimSpace(key), strings.TrimSpace(text))
		}
	}
	header.Set("Content-Type", "application/json")
	timeout := defaultTimeout
	if text := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"), env("OTEL_EXPORTER_OTLP_TIMEOUT")); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q; it is a number of milliseconds", text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	return func(ctx context.Context, text []byte) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(text))
		if err != nil {
			return err
		}
		request.Header = header.Clone()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("%s answered %s", endpoint, response.Status)
		}
		return nil
	}, nil
}

// add takes an ended span.
func (e *Exporter) add(s *Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) >= maxWaiting {
		e.lost++
		return
	}
	if e.waiting = append(e.waiting, s); len(e.waiting) == batchSize {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

func (e *Exporter) run() {
	defer close(e.stopped)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-e.full:
		case <-ticker.C:
		case <-e.done:
			for e.batch() {
			}
			return
		}
		e.batch()
	}
}

// batch writes some spans, and reports whether there may be more.
func (e *Exporter) batch() bool {
	e.mu.Lock()
	n := min(len(e.waiting), batchSize)
	spans := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	e.mu.Unlock()
	if n == 0 {
		return false
	}
	text, err := json.Marshal(e.request(spans))
	if err == nil {
		err = e.write(e.ctx, text)
	}
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lost += n
		e.failure = cmp.Or(e.failure, err)
	}
	return true
}

// Close writes what is left, for a few seconds at most. The error says what was lost.
func (e *Exporter) Close() error {
	close(e.done)
	timer := time.AfterFunc(lastWords, e.cancel)
	<-e.stopped
	timer.Stop()
	e.cancel()
	err := e.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == 0 {
		return err
	}
	lost := fmt.Sprintf("%d spans were lost: ", e.lost)
	if e.lost == 1 {
		lost = "1 span was lost: "
	}
	switch {
	case e.failure == nil:
		return errors.New(lost + "there were too many at once")
	case errors.Is(e.failure, context.Canceled):
		return errors.New(lost + "the collector did not answer in time")
	}
	return fmt.Errorf("%s%w", lost, e.failure)
}

// The JSON of OTLP. Numbers of 64 bits are texts, and IDs are hexadecimal.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []keyValue `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	spanJSON struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Flags      uint32      `json:"flags"`
		Name       string      `json:"name"`
		Kind       Kind        `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []keyValue  `json:"attributes,omitempty"`
		Events     []eventJSON `json:"events,omitempty"`
		Status     statusJSON  `json:"status"`
	}
	eventJSON struct {
		Time       string     `json:"timeUnixNano"`
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	statusJSON struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// failedCode is the code of a status that is an error.
const failedCode = 2

func attributesJSON(list []Attribute) []keyValue {
	var out []keyValue
	for _, a := range list {
		var value any
		switch v := a.Value.(type) {
		case bool:
			value = map[string]bool{"boolValue": v}
		case int:
			value = map[string]string{"intValue": strconv.Itoa(v)}
		case uint64:
			value = map[string]string{"intValue": strconv.FormatUint(v, 10)}
		default:
			value = map[string]string{"stringValue": fmt.Sprint(v)}
		}
		out = append(out, keyValue{a.Key, value})
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (e *Exporter) request(spans []*Span) exportRequest {
	var r resourceSpans
	r.Resource.Attributes = attributesJSON(e.resource)
	var scope scopeSpans
	scope.Scope.Name = "github.com/husk-dev/husk"
	for _, s := range spans {
		s.mu.Lock()
		out := spanJSON{
			TraceID: hex.EncodeToString(s.id.Trace[:]), SpanID: hex.EncodeToString(s.id.Span[:]), Flags: 1, Name: s.name, Kind: s.kind,
			Start: nanos(s.start), End: nanos(s.end), Attributes: attributesJSON(s.attributes),
		}
		if s.parent != [8]byte{} {
			out.Parent = hex.EncodeToString(s.parent[:])
		}
		for _, happened := range s.events {
			out.Events = append(out.Events, eventJSON{nanos(happened.at), happened.name, attributesJSON(happened.attributes)})
		}
		if s.failed {
			out.Status = statusJSON{s.failure, failedCode}
		}
		s.mu.Unlock()
		scope.Spans = append(scope.Spans, out)
	}
	r.ScopeSpans = []scopeSpans{scope}
	return exportRequest{[]resourceSpans{r}}
}
