package automation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// Modules are compiled in the cache of all tests.
func TestMain(m *testing.M) {
	cache, err := testmodule.Cache()
	if err == nil {
		err = os.Setenv("HUSK_CACHE_DIR", cache)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmodule.Main(m)
}

// A preview changes nothing, and does not make the default stack. The progress is what the command shows.
func TestPreviewAndProgress(t *testing.T) {
	testmodule.Skip(t)
	dir := t.TempDir()
	require.NoError(t, newProject(dir))
	p, err := automation.Open(t.Context(), dir, automation.Options{})
	require.NoError(t, err)
	require.Equal(t, "lottery", p.File().Name)
	stack, err := p.Stack("")
	require.NoError(t, err)

	var progress bytes.Buffer
	options := automation.RunOptions{Progress: &progress, Diff: true}
	result, err := stack.Preview(t.Context(), engine.Up{DraftPlan: true}, options)
	require.NoError(t, err)
	require.NotNil(t, result.Plan)
	require.Contains(t, progress.String(), "draw")
	stacks, err := p.Stacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, stacks)

	// The update keeps to the plan of the preview. Then there is nothing to do.
	result, err = stack.Run(t.Context(), engine.Up{Plan: result.Plan}, options)
	require.NoError(t, err)
	require.Equal(t, 2, result.Changes.Create, "the draw, and the stack itself")
	result, err = stack.Run(t.Context(), engine.Up{}, options)
	require.NoError(t, err)
	require.Zero(t, result.Changes.Total())
	require.Error(t, stack.Remove(t.Context()), "it still has resources")

	_, err = stack.Run(t.Context(), engine.Refresh{}, automation.RunOptions{RunProgram: true})
	require.NoError(t, err)
	_, err = stack.Run(t.Context(), engine.Act{Action: "shuffle"}, options)
	require.ErrorContains(t, err, `the program has no action "shuffle": it has none`)
	_, err = stack.Run(t.Context(), engine.Destroy{}, options)
	require.NoError(t, err)
	require.NoError(t, stack.Remove(t.Context()))

	_, err = p.NewStack(t.Context(), "test")
	require.NoError(t, err)
	stacks, err = p.Stacks(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"test"}, stacks)
}

// Configuration is that of the command. Secrets are encrypted in the file, and hidden in the progress.
func TestSetConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the test")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(`
name: p
runtime: yaml
config: {size: {type: integer}, token: {type: string, secret: true}}
outputs: {size: "${size}", token: "${token}"}
`), 0o600))
	p, err := automation.Open(t.Context(), dir, automation.Options{})
	require.NoError(t, err)
	stack, err := p.Stack("")
	require.NoError(t, err)
	require.ErrorContains(t, stack.SetConfig(t.Context(), "size", "large", false), "size does not fit its declaration in Husk.yaml")
	require.NoError(t, stack.SetConfig(t.Context(), "size", "3", false))
	require.NoError(t, stack.SetConfig(t.Context(), "token", "hunter2", false))
	file, err := os.ReadFile(filepath.Join(dir, "Husk.dev.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(file), "3")
	require.NotContains(t, string(file), "hunter2")

	var progress bytes.Buffer
	_, err = stack.Run(t.Context(), engine.Up{}, automation.RunOptions{Progress: &progress})
	require.NoError(t, err)
	require.NotContains(t, progress.String(), "hunter2")
	outputs, err := stack.Outputs(t.Context())
	require.NoError(t, err)
	require.Equal(t, "3", property.Display(outputs.Get("size")))
	token, secret := outputs.Get("token").AsSecret()
	require.True(t, secret)
	require.Equal(t, property.String("hunter2"), token)

	other, err := p.Stack("misspelled")
	require.NoError(t, err)
	require.ErrorContains(t, other.SetConfig(t.Context(), "size", "3", false), "there is no stack")
}

// Mistakes are errors, which the progress shows as well.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	_, err := automation.Open(t.Context(), dir, automation.Options{})
	var none *program.NoProjectError
	require.ErrorAs(t, err, &none)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: p\nruntime: yaml\nresources: {a: {type: nobody:Thing}}\n"), 0o600))
	p, err := automation.Open(t.Context(), dir, automation.Options{})
	require.NoError(t, err)
	_, err = p.Stack("other/project/x")
	require.Error(t, err)
	stack, err := p.Stack("")
	require.NoError(t, err)
	require.Equal(t, "dev", stack.Name())
	var progress bytes.Buffer
	_, err = stack.Preview(t.Context(), engine.Up{}, automation.RunOptions{Progress: &progress})
	require.ErrorContains(t, err, `there is no provider for the package "nobody"`)
	require.Contains(t, progress.String(), `there is no provider for the package "nobody"`)
	_, err = stack.Preview(t.Context(), engine.Up{}, automation.RunOptions{Limits: []string{"memory=lots"}})
	require.ErrorContains(t, err, "lots")
	_, err = stack.Preview(t.Context(), engine.Import{}, automation.RunOptions{RunProgram: true})
	require.ErrorContains(t, err, "RunProgram is an option of Refresh and Destroy")
}

// A program that opens a stranger's project says so, and the project has only what is its own.
func TestProjectsOfStrangers(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "Main.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("canary: [\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: p\nruntime: yaml\nmain: "+outside+"\n"), 0o600))
	_, err := automation.Open(t.Context(), dir, automation.Options{Untrusted: true})
	require.ErrorContains(t, err, "the project is not trusted")
	require.NotContains(t, err.Error(), "canary")
	_, err = automation.Open(t.Context(), dir, automation.Options{})
	require.ErrorContains(t, err, "Main.yaml:")
	require.NotContains(t, err.Error(), "| canary", "what is not in the project's directory is not quoted")
}
