package trace

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/otlp"
)

const (
	// batchSize is the number of spans that are written at once, and maxWaiting the number that may wait for it. More are lost,
	// and counted.
	batchSize  = 500
	maxWaiting = 20_000
	// interval is the time after which a batch is written that is not full.
	interval = 5 * time.Second
	// lastWords bounds the time for the last spans at the end.
	lastWords = 5 * time.Second
)

// Exporter writes spans in batches, in the background. Close writes the rest.
type Exporter struct {
	resource []Attribute
	write    otlp.Send
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
type Environment = otlp.Environment

// OTLP is the destination that stands for the collector of the environment.
const OTLP = "otlp"

// Open returns an exporter to a file, or with [OTLP] to a collector by OTLP over HTTP, as the environment variables of
// OpenTelemetry say. A file gets a line of JSON for each batch, an ExportTraceServiceRequest as the collector's own file
// exporter writes it.
func Open(destination string, env Environment, resource ...Attribute) (*Exporter, error) {
	e := &Exporter{full: make(chan struct{}, 1), done: make(chan struct{}), stopped: make(chan struct{}), close: func() error { return nil }}
	e.resource = otlp.Resource(env, resource...)
	var err error
	switch {
	case destination == OTLP:
		e.write, err = otlp.Open(env, otlp.Traces)
	case strings.Contains(destination, "://"):
		err = fmt.Errorf("%s is not a file; for a collector, set OTEL_EXPORTER_OTLP_ENDPOINT=%s and give otlp", destination, destination)
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
	text, err := otlp.Request(otlp.Traces, e.resource, encoded(spans))
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

// Close writes the rest, for a few seconds at most. The error says how much was lost.
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

// The JSON of OTLP, for [otlp.Request]. Numbers of 64 bits are texts, and IDs are hexadecimal.
type (
	spanJSON struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Flags      uint32          `json:"flags"`
		Name       string          `json:"name"`
		Kind       Kind            `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlp.KeyValue `json:"attributes,omitempty"`
		Events     []eventJSON     `json:"events,omitempty"`
		Status     statusJSON      `json:"status"`
	}
	eventJSON struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlp.KeyValue `json:"attributes,omitempty"`
	}
	statusJSON struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
)

// failedCode is the code of a status that is an error.
const failedCode = 2

func encoded(spans []*Span) (all []spanJSON) {
	for _, s := range spans {
		s.mu.Lock()
		out := spanJSON{
			TraceID: hex.EncodeToString(s.id.Trace[:]), SpanID: hex.EncodeToString(s.id.Span[:]), Flags: 1, Name: s.name, Kind: s.kind,
			Start: otlp.Nanos(s.start), End: otlp.Nanos(s.end), Attributes: otlp.Attributes(s.attributes),
		}
		if s.parent != [8]byte{} {
			out.Parent = hex.EncodeToString(s.parent[:])
		}
		for _, happened := range s.events {
			out.Events = append(out.Events, eventJSON{otlp.Nanos(happened.at), happened.name, otlp.Attributes(happened.attributes)})
		}
		if s.failed {
			out.Status = statusJSON{s.failure, failedCode}
		}
		s.mu.Unlock()
		all = append(all, out)
	}
	return all
}
