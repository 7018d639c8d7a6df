package stackrun_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// counted counts the runs of a program.
type counted struct {
	engine.Program
	runs *int
}

func (counted) Pure() {}

func (c counted) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) error {
	*c.runs++
	return c.Program.Run(ctx, run, m)
}

// An update whose preview has found nothing to do evaluates nothing, and tells, returns, and notes in the history what it would have
// with an evaluation. One that would write something evaluates the program once more.
func TestAnUpdateAfterASettledPreview(t *testing.T) {
	t.Setenv("HUSK_BACKEND_URL", "")
	dir, cache := t.TempDir(), t.TempDir()
	project := func(output string) {
		text := "name: demo\nruntime: yaml\nresources: {}\noutputs: {where: " + output + "}\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
	}
	type step struct{ before, after *state.Resource }
	update := func(previewed bool) (runs int, told []engine.Event, steps []step, result *engine.Result, history []workspace.Update) {
		executes := false
		events := func(e engine.Event) {
			if s, ok := e.(engine.Summary); ok {
				s.DurationMs = 0
				e = s
			}
			if d, ok := e.(engine.StepDone); ok {
				d.DurationMs = 0
				e = d
			}
			if executes {
				told = append(told, e)
			}
		}
		run := openRun(t, dir, cache, events)
		run.Deployment.Steps = func(before, after *state.Resource) {
			if executes {
				steps = append(steps, step{before, after})
			}
		}
		operation := engine.Up{Program: counted{run.Program, &runs}}
		_, err := run.Preview(t.Context(), operation)
		require.NoError(t, err)
		execute := run.Execute
		if previewed {
			execute = run.ExecutePreviewed
		}
		executes = true
		result, err = execute(t.Context(), operation, nil)
		require.NoError(t, err)
		require.NoError(t, run.Close(context.WithoutCancel(t.Context())))
		history, _, err = run.Workspace.History(t.Context(), "dev")
		require.NoError(t, err)
		result.Settled = false
		return runs, told, steps, result, history
	}
	project("here")
	runs, _, _, _, history := update(true)
	require.Equal(t, 2, runs)
	require.Len(t, history, 1)

	runs, want, wantSteps, wantResult, _ := update(false)
	require.Equal(t, 2, runs)
	runs, told, steps, result, history := update(true)
	require.Equal(t, 1, runs)
	require.Equal(t, want, told)
	require.Equal(t, wantSteps, steps)
	require.Equal(t, wantResult, result)
	require.Len(t, history, 3)
	require.Equal(t, "succeeded", history[0].Result)
	require.Equal(t, history[1].Changes, history[0].Changes)

	project("there") // an output alone
	runs, _, _, result, _ = update(true)
	require.Equal(t, 2, runs)
	require.Zero(t, result.Changes.Total())
	require.Equal(t, property.String("there"), result.Outputs.Get("where"))
}

// An update goes by its last preview: an earlier one that was settled does not count.
func TestAnUpdateAfterSeveralPreviews(t *testing.T) {
	t.Setenv("HUSK_BACKEND_URL", "")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nruntime: yaml\nresources: {}\n"), 0o600))
	var said []engine.Event
	run := openRun(t, dir, t.TempDir(), func(e engine.Event) { said = append(said, e) })
	runs := 0
	pure := counted{run.Program, &runs}
	_, err := run.Execute(t.Context(), engine.Up{Program: pure}, nil)
	require.NoError(t, err)
	result, err := run.Preview(t.Context(), engine.Up{Program: pure})
	require.NoError(t, err)
	require.True(t, result.Settled)
	asking := engine.Up{Program: struct{ engine.Program }{pure}} // which may go by the preview
	result, err = run.Preview(t.Context(), asking)
	require.NoError(t, err)
	require.False(t, result.Settled)
	_, err = run.ExecutePreviewed(t.Context(), asking, nil)
	require.NoError(t, err)
	require.Equal(t, 4, runs)
	later := engine.Diagnostic{Severity: "info", Message: "later"}
	run.Plugins.Diagnose(later)
	require.Contains(t, said, engine.Event(later), "what plugins say is heard afterwards, too")
	require.NoError(t, run.Close(context.WithoutCancel(t.Context())))
}

func openRun(t *testing.T, dir, cache string, events func(engine.Event)) *stackrun.Run {
	w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}})
	require.NoError(t, err)
	run, err := stackrun.Open(t.Context(), w, stackrun.Options{
		Command: "up", Stack: "dev", Creates: true, Program: true, Events: events,
		Plugins: plugins.Options{Places: plugins.Places{Cache: cache}, Secrets: &redact.Secrets{}, Events: events},
	})
	require.NoError(t, err)
	return run
}
