// Package trace has spans of OpenTelemetry: what ran when, within what. An [Exporter] writes them to a file or sends them
// to a collector.
//
// It is small because it leaves much out: spans have only texts, numbers, and bools, nothing is sampled, and OTLP is JSON. The
// SDK of OpenTelemetry brings Protocol Buffers along, and no exporter to a file.
package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/otlp"
)

// ID identifies a span everywhere.
type ID struct {
	Trace [16]byte
	Span  [8]byte
}

// IDOf returns the ID of a span that several processes know by its name, in the trace of another span, or in one of its
// own for the zero ID.
func IDOf(name string, parent ID) ID {
	sum := sha256.Sum256([]byte(name))
	id := ID{Trace: parent.Trace, Span: [8]byte(sum[16:])}
	if id.Trace == [16]byte{} {
		id.Trace = [16]byte(sum[:])
	}
	return id
}

// ParseTraceparent reads the ID in a header traceparent (W3C Trace Context). ok is false for a text that is none.
func ParseTraceparent(text string) (id ID, ok bool) {
	parts := strings.Split(strings.TrimSpace(text), "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 ||
		len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 || strings.ToLower(text) != text {
		return ID{}, false
	}
	_, traceErr := hex.Decode(id.Trace[:], []byte(parts[1]))
	_, spanErr := hex.Decode(id.Span[:], []byte(parts[2]))
	return id, traceErr == nil && spanErr == nil && id.Trace != [16]byte{} && id.Span != [8]byte{}
}

// Traceparent returns the header traceparent for requests within the span.
func (id ID) Traceparent() string {
	return "00-" + hex.EncodeToString(id.Trace[:]) + "-" + hex.EncodeToString(id.Span[:]) + "-01"
}

// Attribute is a fact about a span. Value is a string, bool, int, or uint64.
type Attribute = otlp.Attribute

// Kind is the kind of a span, as OTLP numbers them.
type Kind int

// The kinds: Client is a call of a provider.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// Span is an operation that takes time. Its methods can be called concurrently, and on nil, which stands for no span.
type Span struct {
	id     ID
	parent [8]byte
	name   string
	kind   Kind
	start  time.Time
	tracer *Tracer

	mu         sync.Mutex
	attributes []Attribute
	events     []event
	failure    string
	failed     bool
	end        time.Time
}

// event is something that happened in a span.
type event struct {
	at         time.Time
	name       string
	attributes []Attribute
}

// maxEvents bounds the events of a span.
const maxEvents = 200

// ID returns the ID, zero for nil.
func (s *Span) ID() ID {
	if s == nil {
		return ID{}
	}
	return s.id
}

// OfCall reports whether this is the span of a call of a provider.
func (s *Span) OfCall() bool { return s != nil && s.kind == Client }

// Set adds attributes.
func (s *Span) Set(attributes ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attributes = append(s.attributes, attributes...)
}

// Is reports whether the span has an attribute.
func (s *Span) Is(key string, value any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.attributes, Attribute{Key: key, Value: value})
}

// Happened adds an event.
func (s *Span) Happened(name string, attributes ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) < maxEvents {
		s.events = append(s.events, event{s.tracer.now(), name, attributes})
	}
}

// Fail marks the span as failed. The message must not hold secrets.
func (s *Span) Fail(message string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.failure = true, message
}

// Start begins a span within this one; nil within nil.
func (s *Span) Start(name string, kind Kind, attributes ...Attribute) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.start(s.id, name, kind, attributes)
}

// End ends the span and hands it over for export. Later attributes are lost.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	ended := !s.end.IsZero()
	if !ended {
		s.end = s.tracer.now()
	}
	s.mu.Unlock()
	if !ended {
		s.tracer.export(s)
	}
}

// Tracer begins spans.
type Tracer struct {
	now    func() time.Time
	export func(*Span)
}

// NewTracer returns a tracer whose ended spans are exported.
func NewTracer(e *Exporter) *Tracer { return &Tracer{time.Now, e.add} }

// Start begins a span within another process's; within none for the zero ID.
func (t *Tracer) Start(parent ID, name string, kind Kind, attributes ...Attribute) *Span {
	return t.start(parent, name, kind, attributes)
}

func (t *Tracer) start(parent ID, name string, kind Kind, attributes []Attribute) *Span {
	s := &Span{id: parent, parent: parent.Span, name: name, kind: kind, start: t.now(), tracer: t, attributes: attributes}
	if parent.Trace == [16]byte{} {
		_, _ = rand.Read(s.id.Trace[:]) // never fails
	}
	_, _ = rand.Read(s.id.Span[:])
	return s
}

// Record exports a span of a known ID and time. failure is empty unless it failed.
func (t *Tracer) Record(id, parent ID, name string, start, end time.Time, failure string, attributes ...Attribute) {
	t.export(&Span{id: id, parent: parent.Span, name: name, kind: Internal, start: start, end: end, tracer: t, attributes: attributes,
		failed: failure != "", failure: failure})
}

type contextKey struct{}

// With returns a context within a span.
func With(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the span of a context, nil for none.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(contextKey{}).(*Span)
	return s
}
