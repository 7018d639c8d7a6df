// Package runtrace makes spans of deployments: of the run, of the engine's operations and steps, and of the calls of
// providers.
package runtrace

import (
	"context"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/plugins"
)

// Recorder makes spans of one command. A nil one makes none.
type Recorder struct {
	tracer   *trace.Tracer
	exporter *trace.Exporter
	redact   func(string) string
	run      *trace.Span

	mu sync.Mutex
	// operation is the running operation of the engine, nil between operations.
	operation *trace.Span
	// open are the running steps and actions, by their subjects.
	open map[string]*trace.Span
}

// Open begins the span of a command, in the trace that the environment names as TRACEPARENT, as continuous integration
// does. redact takes secrets out of messages.
func Open(destination, command string, env trace.Environment, redact func(string) string, version string) (*Recorder, error) {
	exporter, err := trace.Open(destination, env, trace.Attribute{Key: "service.version", Value: version})
	if err != nil {
		return nil, err
	}
	r := &Recorder{tracer: trace.NewTracer(exporter), exporter: exporter, redact: redact, open: map[string]*trace.Span{}}
	parent, _ := trace.ParseTraceparent(env("TRACEPARENT"))
	r.run = r.tracer.Start(parent, "husk "+command, trace.Internal, trace.Attribute{Key: "husk.command", Value: command})
	return r, nil
}

// Context returns a context within the span of the command.
func (r *Recorder) Context(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return trace.With(ctx, r.run)
}

// Close ends the command, with its error, and writes the rest. The error says how much was lost.
func (r *Recorder) Close(err error) error {
	if r == nil {
		return nil
	}
	r.endOperation("cut off")
	if err != nil {
		r.run.Fail(r.message(err.Error()))
	}
	r.run.End()
	return r.exporter.Close()
}

// maxMessage bounds messages in bytes.
const maxMessage = 500

// message returns the first line of a text without secrets.
func (r *Recorder) message(text string) string {
	text, _, _ = strings.Cut(r.redact(text), "\n")
	if len(text) > maxMessage {
		text = text[:maxMessage]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return text
}

func attribute(key string, value any) trace.Attribute { return trace.Attribute{Key: key, Value: value} }

// Event makes spans of the engine's events. They come one at a time.
func (r *Recorder) Event(e engine.Event) {
	if r == nil {
		return
	}
	switch e := e.(type) {
	case engine.Started:
		r.endOperation("cut off")
		name := e.Operation
		if e.DryRun {
			name = "preview of " + strings.TrimPrefix(name, "preview of ")
			if e.Operation == "preview" {
				name = "preview"
			}
		}
		r.mu.Lock()
		r.operation = r.run.Start(name, trace.Internal, attribute("husk.operation", e.Operation), attribute("husk.project", e.Project),
			attribute("husk.stack", e.Stack), attribute("husk.preview", e.DryRun))
		r.mu.Unlock()
	case engine.Summary:
		r.current().Set(attribute("husk.actions", e.Actions))
		if e.Result == "failed" {
			r.current().Fail("failed")
		}
		r.endOperation("")
	case engine.StepStarted:
		r.begin(stepKey(e.Step), string(e.Step.Op)+" "+e.Step.Resource, attribute("husk.urn", string(e.Step.URN)), attribute("husk.type", e.Step.Resource),
			attribute("husk.name", e.Step.Name), attribute("husk.step", string(e.Step.Op)))
	case engine.StepDone:
		r.end(stepKey(e.Step), "", e.Step.ID)
	case engine.StepFailed:
		if !r.end(stepKey(e.Step), e.Error, e.Step.ID) { // it never got as far as a step
			s := r.current().Start("failed "+e.Step.Resource, trace.Internal, attribute("husk.urn", string(e.Step.URN)))
			s.Fail(r.message(e.Error))
			s.End()
		}
	case engine.ActionStarted:
		r.begin(actionKey(e.Action), "action "+e.Action.Function, attribute("husk.action", e.Action.Name), attribute("husk.urn", string(e.Action.URN)))
	case engine.ActionDone:
		r.end(actionKey(e.Action), "", "")
	case engine.ActionFailed:
		r.end(actionKey(e.Action), e.Error, "")
	case engine.Preparing:
		if e.Received > 0 {
			return // it has begun
		}
		r.current().Happened("preparing", attribute("husk.provider.name", e.Provider), attribute("husk.doing", e.Doing), attribute("husk.done", e.Done))
	case engine.Diagnostic:
		if (e.Severity == "warning" || e.Severity == "error") && !e.Ephemeral {
			r.current().Happened(e.Severity, attribute("message", r.message(e.Message)), attribute("husk.urn", string(e.URN)))
		}
	}
}

func stepKey(s engine.StepInfo) string { return string(s.Op) + " " + string(s.URN) }

func actionKey(a engine.ActionInfo) string {
	return "action " + a.Name + " " + a.Event + " " + string(a.URN)
}

// current is the span of the operation, or of the command between operations.
func (r *Recorder) current() *trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.operation != nil {
		return r.operation
	}
	return r.run
}

func (r *Recorder) begin(key, name string, attributes ...trace.Attribute) {
	s := r.current().Start(name, trace.Internal, attributes...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[key] = s
}

// end ends what runs, and reports whether it did.
func (r *Recorder) end(key, failure, id string) bool {
	r.mu.Lock()
	s, ok := r.open[key]
	delete(r.open, key)
	r.mu.Unlock()
	if id != "" {
		s.Set(attribute("husk.id", r.message(id)))
	}
	if failure != "" {
		s.Fail(r.message(failure))
	}
	s.End()
	return ok
}

// endOperation ends the operation, and its running steps with a reason.
func (r *Recorder) endOperation(reason string) {
	r.mu.Lock()
	operation, open := r.operation, r.open
	r.operation, r.open = nil, map[string]*trace.Span{}
	r.mu.Unlock()
	for _, s := range open {
		if reason != "" {
			s.Fail(reason)
		}
		s.End()
	}
	operation.End()
}

// stepOf returns the span of a resource's running step, or the operation's span.
func (r *Recorder) stepOf(u urn.URN) *trace.Span {
	r.mu.Lock()
	for _, s := range r.open { // few steps run at once
		if u != "" && s.Is("husk.urn", string(u)) {
			r.mu.Unlock()
			return s
		}
	}
	r.mu.Unlock()
	return r.current()
}

// Loader returns a loader of the same providers, whose calls have spans.
func (r *Recorder) Loader(p *plugins.Plugins) engine.Loader {
	if r == nil {
		return p
	}
	return &loader{p, r}
}

type loader struct {
	*plugins.Plugins
	recorder *Recorder
}

func (l *loader) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := l.Plugins.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	about := []trace.Attribute{attribute("husk.provider.name", spec.Name)}
	if spec.Version != "" {
		about = append(about, attribute("husk.provider.version", spec.Version))
	}
	if d, ok := abi.ProviderAs[engine.Digester](p); ok {
		about = append(about, attribute("husk.provider.digest", d.Digest()))
	}
	return abi.Intercept(p, func(ctx context.Context, call *abi.Call) (context.Context, func(error) error, error) {
		return l.recorder.call(ctx, spec.Name, about, call)
	}), nil
}

// call makes the span of a call. The host adds what the call took.
func (r *Recorder) call(ctx context.Context, provider string, about []trace.Attribute, call *abi.Call) (context.Context, func(error) error, error) {
	subject := call.Subject()
	s := r.stepOf(subject.URN).Start(provider+" "+string(call.Method), trace.Client, about...)
	s.Set(attribute("rpc.system", "husk"), attribute("rpc.method", string(call.Method)))
	if subject.URN != "" {
		s.Set(attribute("husk.urn", string(subject.URN)))
	}
	return trace.With(ctx, s), func(err error) error {
		if err != nil {
			kind := abi.AsError(err).Kind.String()
			s.Set(attribute("error.type", kind))
			s.Fail(kind) // the message may hold anything
		}
		s.End()
		return err
	}, nil
}
