package host

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/printable"
)

// Attributes of the log records that come from guests. Records of what a guest prints
// have LogStream, of value stdout or stderr, and the level Info.
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
	// LogOfHost is true for what the host says about a guest. All else is the guest's word.
	LogOfHost = "host"
)

const (
	// recordCost is what a record counts beside its text, in bytes.
	recordCost = 64
	// maxLastWords bounds what is kept of a crash, in bytes that are safe to print.
	maxLastWords = 8 << 10
)

// output makes log records of what an instance logs and prints, as long as the provider
// does not do so faster than it may.
type output struct {
	instance *instance
	stdout   wasi.Lines
	stderr   wasi.Lines
	// lastWords are the lines since a Go guest began to print a panic. They are held
	// back until it is known whether the guest survived: if not, they are its error.
	lastWords []string
	words     int
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

// beginsCrash recognizes the first line that the Go runtime prints before it exits.
func beginsCrash(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// crash takes what the guest printed before it ended.
func (o *output) crash() string {
	o.stderr.Flush()
	words := strings.TrimSpace(strings.Join(o.lastWords, "\n"))
	o.lastWords, o.words = nil, 0
	return words
}

// ended reports whether nothing is held back.
func (o *output) ended() bool {
	return o.stdout.Ended() && o.stderr.Ended() && len(o.lastWords) == 0
}

// end emits what is still held back.
func (o *output) end() {
	o.stdout.Flush()
	o.stderr.Flush()
	words := o.lastWords
	o.lastWords, o.words = nil, 0
	for _, line := range words {
		o.line("stderr", line) // which writes what is safe already as it is
	}
}

func (o *output) line(stream, line string) {
	o.record(slog.LevelInfo, line, "", slog.String(LogStream, stream))
}

// record writes a record about a resource, if one is named, unless too much was written. What
// counts is what is written, which may have several bytes for one of the guest's.
func (o *output) record(level slog.Level, message, about string, attributes ...slog.Attr) {
	s := o.instance.sandbox
	if len(message)+len(about) <= s.logRate.most() {
		message, about = printable.Text(message), printable.Text(about)
	} // else it is dropped as it is
	if about != "" {
		attributes = append(attributes, slog.String(LogURN, about))
	}
	passes, dries, dropped := s.logRate.take(s.module.host.config.clock.Elapsed(), len(message)+len(about)+recordCost)
	if dries {
		dropped := &limit.ExceededError{Limit: limit.LogRate, Most: uint64(s.logRate.perSecond)}
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
	if r.replaying {
		level = slog.LevelDebug
	}
	attributes = append([]slog.Attr{
		slog.String(LogProvider, s.identity.Load().name),
		slog.String(LogMethod, string(r.method)),
	}, attributes...)
	s.logger.LogAttrs(r.soft(), level, message, attributes...)
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
