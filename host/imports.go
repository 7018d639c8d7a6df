package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/wasm/meter"
)

// imports are the functions that modules of a host may import. A module of them is made when a guest that
// imports it runs first: most need two of a dozen.
type imports struct {
	mu   sync.Mutex
	made map[string]bool
}

func (h *Host) importsFor(m *Module) error {
	h.imports.mu.Lock()
	defer h.imports.mu.Unlock()
	if h.imports.made == nil {
		h.imports.made = make(map[string]bool)
	}
	need := func(name string, instantiate func() error) error {
		if h.imports.made[name] {
			return nil
		}
		if err := instantiate(); err != nil {
			return fmt.Errorf("making the host module %s: %w", name, err)
		}
		h.imports.made[name] = true
		return nil
	}
	err := need(meter.Module, func() error { return instantiateMeter(h.stopped, h.runtime) })
	for _, i := range m.Imports {
		err = errors.Join(err, need(i.Module, func() error {
			if i.Module == wasi.ModuleName {
				return wasi.Instantiate(h.stopped, h.runtime)
			}
			return instantiateImports(h.stopped, h.runtime, i.Module)
		}))
	}
	return err
}

// instantiateImports adds an interface of the contract to a runtime, for all guests.
func instantiateImports(ctx context.Context, runtime wazero.Runtime, name string) error {
	builder := runtime.NewHostModuleBuilder(name)
	for _, i := range canon.ImportsOf(name) {
		builder.NewFunctionBuilder().
			WithName(i.Name).
			WithGoModuleFunction(importFunc(i), i.Params, i.Results).
			Export(i.Name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// errNotReady is a guest that uses the contract in its start function, before it can be called back.
var errNotReady = errors.New("the module calls the host before it is initialized")

func importFunc(function canon.Import) api.GoModuleFunc {
	// Waiting for other resources means waiting for instances that may need memory.
	waits := strings.HasPrefix(function.Module, canon.Package+"/monitor@")
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		if ctx.Err() != nil {
			panic(context.Cause(ctx))
		}
		i, ok := ctx.Value(guestcall.InstanceKey{}).(*instance)
		if !ok || i.exports == nil {
			panic(errNotReady)
		}
		i.call.HostCall()
		i.ledger.passed()
		if waits {
			i.sandbox.budget.Leave()
			defer i.sandbox.budget.Enter()
		}
		i.hostCalls++
		// The host's work for the guest ends with the caller's context.
		if err := function.Call(i.call.Soft(), i.guest, i.grantedImports(), stack); err != nil {
			panic(err)
		}
	}
}

// grantedImports returns the imports that the running call may use, made at its first use. A capability is added here, and to
// guestcall.Call.EachHeld if a call can leave something of it open.
func (i *instance) grantedImports() *canon.Imports {
	if i.imports != nil {
		return i.imports
	}
	s, used := i.sandbox, i.used()
	i.call.HTTP = &capability.HTTP{Client: s.http, Used: used, Ledger: &i.ledger, Descriptors: i.descriptors}
	i.call.Assets.Ledger = &i.ledger
	i.imports = &canon.Imports{
		Log:     guestLog{i},
		Control: guestControl{i},
		Files:   capability.Files{System: s.files, Used: used},
		Assets:  &i.call.Assets,
		HTTP:    i.call.HTTP,
		TCP:     i.tcp,
		KV:      capability.NewKV(s.store, s.configuredAs(), s.advice, used),
		Monitor: capability.DeniedMonitor{},
	}
	if i.call.Monitor != nil {
		i.call.Started = capability.NewMonitor(i.call.Monitor, &i.ledger)
		i.imports.Monitor = i.call.Started
	}
	return i.imports
}

// guestControl tells a guest about its call.
type guestControl struct{ *instance }

func (c guestControl) Cancelled(context.Context) bool { return c.call.Soft().Err() != nil }

// guestSockets are the connections and exchanges of a guest that it waits for.
type guestSockets struct{ *instance }

// Socket implements [wasi.Sockets].
func (s guestSockets) Socket(fd uint32) wasi.Socket {
	if found := s.tcp.Socket(fd); found != nil {
		return found
	}
	if s.call == nil || s.call.HTTP == nil {
		return nil
	}
	return s.call.HTTP.Socket(fd)
}

// CloseSocket implements [wasi.Sockets].
func (s guestSockets) CloseSocket(fd uint32) {
	s.tcp.Close(s.call.Soft(), abi.TCPConnection(fd))
	if s.call.HTTP != nil {
		s.call.HTTP.Close(s.call.Soft(), abi.HTTPExchange(fd))
	}
}

// Changed implements [wasi.Sockets].
func (s guestSockets) Changed() <-chan struct{} { return s.descriptors.Changed() }

// Ended implements [wasi.Sockets].
func (s guestSockets) Ended() context.Context { return s.call.Soft() }

// instantiateMeter adds the function by which guests ask for fuel.
func instantiateMeter(ctx context.Context, runtime wazero.Runtime) error {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), i64, i64).Export(meter.Refill).Instantiate(ctx)
	return err
}

// refill ends a guest whose call is over, and grants fuel to others.
func refill(ctx context.Context, stack []uint64) {
	i, ok := ctx.Value(guestcall.InstanceKey{}).(*instance)
	if !ok || i.call == nil {
		panic(errNotReady)
	}
	r := i.call
	now := time.Now()
	granted, err := i.tank.Refill(int64(stack[0]), now)
	if spent, ok := errors.AsType[*meter.SpentError](err); ok {
		r.End(&limit.ExceededError{Limit: limit.Fuel, Most: spent.Limit, Method: string(r.Method)})
	}
	r.CheckDeadline(now)
	if r.Hard().Err() != nil {
		panic(context.Cause(r.Hard()))
	}
	stack[0] = uint64(granted)
}

// Attributes of the log records that come from guests. A guest's prints have LogStream and the level Info.
const (
	// LogProvider is the name of the package or policy pack.
	LogProvider = "provider"
	// LogMethod is the method that was being served, by its WIT name.
	LogMethod = "method"
	// LogURN is the resource that a message is about.
	LogURN = "urn"
	// LogStream is the stream that a line was printed to.
	LogStream = "stream"
	// LogEphemeral is true for progress that the next such message replaces.
	LogEphemeral = "ephemeral"
	// LogOfHost is true for the host's records about a guest. All else is the guest's word.
	LogOfHost = "host"
)

const (
	// recordCost is the cost of a record beside its text, in bytes.
	recordCost = 64
	// maxLastWords bounds the kept text of a crash, in bytes that are safe to print.
	maxLastWords = 8 << 10
)

// output turns the logs and prints of an instance into log records, within the provider's log rate.
type output struct {
	instance *instance
	stdout   wasi.Lines
	stderr   wasi.Lines
	// lastWords are lines since a guest began to print a panic: its error if it ends, else logged.
	lastWords []string
	words     int
	// stacks is the guest's output about a panic, the main part of which is in the call's error.
	stacks string
}

func (o *output) init(i *instance) {
	o.instance = i
	o.stdout.Emit = func(line string) { o.line("stdout", line) }
	o.stderr.Emit = func(line string) {
		if len(o.lastWords) == 0 && !beginsCrash(line) {
			o.line("stderr", line)
			return
		}
		line = printable.Text(line)
		if o.words += len(line) + 1; o.words <= maxLastWords {
			o.lastWords = append(o.lastWords, line)
		}
	}
}

// beginsCrash recognizes the first line that the runtime of Go or Rust prints before it ends the program.
func beginsCrash(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
		strings.HasPrefix(line, "thread '") && strings.Contains(line, " panicked at ")
}

// crash returns the guest's output about its panic, and leaves it in the log, where programs find it.
func (o *output) crash() string {
	o.stderr.Flush()
	o.stacks = strings.TrimSpace(strings.Join(o.lastWords, "\n"))
	o.lastWords, o.words = nil, 0
	return o.stacks
}

// ended reports whether nothing is held back.
func (o *output) ended() bool {
	return o.stdout.Ended() && o.stderr.Ended() && len(o.lastWords) == 0 && o.stacks == ""
}

// end emits the held back output.
func (o *output) end() {
	o.stdout.Flush()
	o.stderr.Flush()
	words, stacks := o.lastWords, o.stacks
	o.lastWords, o.words, o.stacks = nil, 0, ""
	if stacks != "" {
		o.record(slog.LevelDebug, stacks, "")
	}
	for _, line := range words {
		o.line("stderr", line) // which leaves safe text as it is
	}
}

func (o *output) line(stream, line string) {
	o.record(slog.LevelInfo, line, "", slog.String(LogStream, stream))
}

// record writes a record, about a resource if one is named, unless too much was written. The size of the escaped text counts.
func (o *output) record(level slog.Level, message, about string, attributes ...slog.Attr) {
	s := o.instance.sandbox
	if len(message)+len(about) <= s.logRate.Most() {
		message, about = printable.Text(message), printable.Text(about)
	} // else it is dropped as it is
	if about != "" {
		attributes = append(attributes, slog.String(LogURN, about))
	}
	passes, dries, dropped := s.logRate.Take(s.module.host.config.clock.Elapsed(), len(message)+len(about)+recordCost)
	if dries {
		dropped := &limit.ExceededError{Limit: limit.LogRate, Most: uint64(s.logRate.PerSecond)}
		o.write(slog.LevelWarn, fmt.Sprintf("output of the %s is dropped: %s", s.module.World, s.advised(dropped)), slog.Bool(LogOfHost, true))
	}
	if dropped > 0 {
		o.write(slog.LevelWarn, fmt.Sprintf("%d bytes of the output of the %s were dropped", dropped, s.module.World), slog.Bool(LogOfHost, true))
	}
	if passes {
		o.write(level, message, attributes...)
	}
}

// write writes a record, whose message is safe to print.
func (o *output) write(level slog.Level, message string, attributes ...slog.Attr) {
	s, r := o.instance.sandbox, o.instance.call
	if r.Replaying {
		level = slog.LevelDebug
	}
	attributes = append([]slog.Attr{
		slog.String(LogProvider, s.identity.Load().name),
		slog.String(LogMethod, string(r.Method)),
	}, attributes...)
	s.logger.LogAttrs(r.Soft(), level, message, attributes...)
}

// guestLog is the import log.
type guestLog struct{ *instance }

func (l guestLog) Write(_ context.Context, entry abi.LogEntry) {
	level := slog.LevelError
	switch entry.Severity {
	case abi.LogSeverityDebug:
		level = slog.LevelDebug
	case abi.LogSeverityInfo:
		level = slog.LevelInfo
	case abi.LogSeverityWarning:
		level = slog.LevelWarn
	}
	var attributes []slog.Attr
	if entry.Ephemeral {
		attributes = append(attributes, slog.Bool(LogEphemeral, true))
	}
	l.output.record(level, entry.Message, string(entry.URN), attributes...)
}
