package stackrun_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// Whoever asks for a run of a project that is not trusted does not choose how much of the machine it takes.
func TestProjectsThatAreNotTrustedHaveFewStepsAtOnce(t *testing.T) {
	t.Setenv("HUSK_BACKEND_URL", "")
	for trust, most := range map[projectroot.Trust]int{projectroot.Trusted: 100_000, projectroot.Untrusted: 128} {
		for asked, want := range map[int]int{0: 0, 5: 5, 100_000: most} {
			dir, events := t.TempDir(), func(engine.Event) {}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nruntime: yaml\nresources: {}\n"), 0o600))
			w, err := workspace.Open(t.Context(), projectroot.New(dir, trust), workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}})
			require.NoError(t, err)
			run, err := stackrun.Open(t.Context(), w, stackrun.Options{
				Command: "preview", Stack: "dev", Preview: true, Creates: true, Program: true, Parallel: asked, Events: events,
				Plugins: plugins.Options{Places: plugins.Places{Cache: t.TempDir()}, Secrets: &redact.Secrets{}, Events: events},
			})
			require.NoError(t, err)
			require.Equal(t, want, run.Deployment.Parallel)
			require.NoError(t, run.Close(context.WithoutCancel(t.Context())))
		}
	}
}

// What a provider warns of in a preview is no news in the update, nor from its next instance. Programs get it as a message for
// debugging.
func TestProvidersWarnOnce(t *testing.T) {
	t.Setenv("HUSK_BACKEND_URL", "")
	var told []engine.Event
	events := func(e engine.Event) { told = append(told, e) }
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nruntime: yaml\nresources: {}\n"), 0o600))
	w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}})
	require.NoError(t, err)
	run, err := stackrun.Open(t.Context(), w, stackrun.Options{
		Command: "preview", Stack: "dev", Preview: true, Creates: true, Program: true, Events: events,
		Plugins: plugins.Options{Places: plugins.Places{Cache: t.TempDir()}, Secrets: &redact.Secrets{}, Events: events},
	})
	require.NoError(t, err)
	first := engine.Diagnostic{Severity: "warning", Message: "it is hot", Provider: "lab", URN: "urn:pulumi:dev::demo::lab:Thing::a", Guest: true}
	other, info, ofHost := first, first, first
	other.URN, info.Severity, ofHost.Guest = "urn:pulumi:dev::demo::lab:Thing::b", "info", false
	again := first
	again.Severity = "debug"
	for _, d := range []engine.Diagnostic{first, first, other, info, info, ofHost, ofHost} {
		run.Plugins.Diagnose(d)
	}
	require.Equal(t, []engine.Event{first, again, other, info, info, ofHost, ofHost}, told)
	require.NoError(t, run.Close(context.WithoutCancel(t.Context())))
}
