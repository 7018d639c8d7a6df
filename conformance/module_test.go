package conformance_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/modulerewriting"
	"github.com/husk-dev/husk/internal/testmodule"
	"github.com/husk-dev/husk/testdata/notes"
)

// rule is the environment variable that makes the module break a rule.
const rule = "NOTES_BREAK"

// cancelGrace is how long the host lets a guest go on that was cancelled: not as long as
// it does elsewhere, because a test waits for it.
const cancelGrace = 1200 * time.Millisecond

// loadModule builds and compiles testdata/wrong, which takes most of the time of its tests.
func loadModule(t *testing.T) *host.Module {
	t.Helper()
	return load(t, t.Context(), host.NewConfig())
}

// loadRewritten loads the module as one that was installed, each function of which was rewritten that
// can be.
func loadRewritten(t *testing.T) *host.Module {
	t.Helper()
	ctx := modulerewriting.With(t.Context(), modulerewriting.All)
	load(t, ctx, host.NewConfig())
	return load(t, ctx, host.NewConfig())
}

func load(t *testing.T, ctx context.Context, config host.Config) *host.Module {
	t.Helper()
	testmodule.Skip(t)
	module, err := testmodule.HostIn(t, ctx, config.WithCancelGrace(cancelGrace)).LoadBytes(t.Context(), testmodule.Build(t, "../testdata/wrong"))
	require.NoError(t, err)
	return module
}

// testModule tests a module, with a directory for its notes.
func testModule(t *testing.T, module *host.Module, options conformance.Options, log slog.Handler) *conformance.Report {
	t.Helper()
	folder := t.TempDir()
	grants := host.Grants{
		Env: []string{rule},
		FS:  []host.FSGrant{{HostPath: folder, GuestPath: notes.DefaultFolder, ReadWrite: true}},
	}
	options.Observe = func(context.Context) (map[string]string, error) { return contents(folder) }
	report, err := conformance.Run(t.Context(), func(ctx context.Context) (abi.Provider, error) {
		return module.NewProvider(ctx, host.ProviderOptions{Name: "notes", Grants: grants, Lenient: true, Logger: slog.New(log)})
	}, options)
	require.NoError(t, err)
	return report
}

// begins is a log that hears of creates which say that they have begun.
type begins chan struct{}

func (b begins) wait(create context.Context) {
	select {
	case <-b:
	case <-create.Done():
	}
}

func (b begins) Enabled(context.Context, slog.Level) bool { return true }

func (b begins) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "begun" {
		select {
		case b <- struct{}{}:
		default: // nobody has waited for the one before
		}
	}
	return nil
}

func (b begins) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b begins) WithGroup(string) slog.Handler      { return b }

// contents returns those of the files in a directory.
func contents(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = string(data)
	}
	return files, err
}

// outcomes returns the failed checks with their messages.
func outcomes(report *conformance.Report) map[string]string {
	failed := map[string]string{}
	for _, r := range report.Failures() {
		failed[r.Check] = r.Message
	}
	return failed
}
