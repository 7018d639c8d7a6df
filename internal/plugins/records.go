package plugins

import (
	"context"
	"log/slog"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
)

// records makes diagnostics of the host's log records of guests. It is a [slog.Handler] only for the
// attributes that the host documents.
type records struct {
	to func(engine.Diagnostic)
}

// Enabled returns true, because the display selects levels.
func (*records) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (r *records) Handle(_ context.Context, record slog.Record) error {
	d := engine.Diagnostic{Severity: severity(record.Level), Message: record.Message, Guest: true}
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case host.LogProvider:
			d.Provider = a.Value.String()
		case host.LogURN:
			d.URN = urn.URN(a.Value.String())
		case host.LogEphemeral:
			d.Ephemeral = a.Value.Bool()
		case host.LogOfHost:
			d.Guest = !a.Value.Bool()
		}
		return true
	})
	if strings.TrimSpace(d.Message) != "" {
		r.to(d)
	}
	return nil
}

// WithAttrs returns the handler, because the host gives all attributes with the record.
func (r *records) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup returns the handler.
func (r *records) WithGroup(string) slog.Handler { return r }

func severity(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	default:
		return "error"
	}
}
