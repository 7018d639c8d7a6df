package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// command is the program husk, built, of a user who has nothing yet but what tests have compiled.
type command struct {
	path string
	home string
	env  []string
}

// buildHusk builds husk from its source.
func buildHusk(t *testing.T) *command {
	const source = "../cmd/husk"
	t.Helper()
	testmodule.Skip(t)
	home := t.TempDir()
	name := "husk"
	if os.PathSeparator == '\\' {
		name += ".exe"
	}
	c := &command{path: filepath.Join(home, "bin", name), home: home}
	c.env = append(os.Environ(), testmodule.User(t, home)...)
	testmodule.DependOn(t, source)
	out, err := exec.Command("go", "build", "-o", c.path, source).CombinedOutput()
	require.NoError(t, err, string(out))
	return c
}

// project is a directory in which husk is run.
type project struct {
	T *testing.T
	// Dir is the directory.
	Dir string
	// Printed is everything that any command printed.
	Printed bytes.Buffer

	husk *command
}

// project makes an empty directory.
func (c *command) project(t *testing.T) *project {
	t.Helper()
	dir, err := os.MkdirTemp(c.home, "project")
	require.NoError(t, err)
	return &project{T: t, Dir: dir, husk: c}
}

// Path is that of something in the project.
func (p *project) Path(parts ...string) string {
	return filepath.Join(append([]string{p.Dir}, parts...)...)
}

// Moved returns a directory with the state of the project and the named files and directories
// alone: neither with the program nor with the providers.
func (p *project) Moved(names ...string) *project {
	p.T.Helper()
	moved := p.husk.project(p.T)
	for _, name := range append(names, ".husk") {
		require.NoError(p.T, os.CopyFS(moved.Path(name), os.DirFS(p.Path(name))))
	}
	return moved
}

// Write writes a file, and the directories that it is in.
func (p *project) Write(name, text string) {
	p.T.Helper()
	require.NoError(p.T, os.MkdirAll(filepath.Dir(p.Path(name)), 0o700))
	require.NoError(p.T, os.WriteFile(p.Path(name), []byte(text), 0o600))
}

// Read returns the text of a file.
func (p *project) Read(name string) string {
	p.T.Helper()
	text, err := os.ReadFile(p.Path(name))
	require.NoError(p.T, err)
	return string(text)
}

// Edit replaces the first occurrence of a text in a file, which must have it.
func (p *project) Edit(name, old, new string) {
	p.T.Helper()
	text := p.Read(name)
	require.Contains(p.T, text, old)
	p.Write(name, strings.Replace(text, old, new, 1))
}

// Try runs husk in the project and returns what it wrote to its standard output and
// error, and how it ended.
func (p *project) Try(args ...string) (stdout, stderr string, err error) {
	p.T.Helper()
	cmd := exec.Command(p.husk.path, args...)
	cmd.Dir, cmd.Env = p.Dir, p.husk.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	p.Printed.Write(out.Bytes())
	p.Printed.Write(said.Bytes())
	return out.String(), said.String(), err
}

// Run runs husk, which must succeed, and returns its standard output.
func (p *project) Run(args ...string) string {
	p.T.Helper()
	stdout, stderr, err := p.Try(args...)
	require.NoError(p.T, err, "husk %s\n%s%s", strings.Join(args, " "), stdout, stderr)
	return stdout
}

// changes are the counts of a summary.
type changes struct{ Create, Update, Replace, Delete, Same, Read int }

// deployment is what husk reports of one.
type deployment struct {
	// Result is "succeeded" or "failed".
	Result  string
	Changes changes
	// Steps are "op name", as they ended, without those that changed nothing and those
	// of providers that no program declares.
	Steps []string
	// Providers are the steps of those, as "op type".
	Providers []string
	// Output is the whole report, as JSON.
	Output string
}

// Deploy runs husk, which must succeed in deploying.
func (p *project) Deploy(args ...string) deployment {
	p.T.Helper()
	d := p.TryDeploy(args...)
	require.Equal(p.T, "succeeded", d.Result, d.Output)
	return d
}

// TryDeploy runs husk, which must report how a deployment ended.
func (p *project) TryDeploy(args ...string) deployment {
	p.T.Helper()
	stdout, stderr, _ := p.Try(append(args, "--json")...)
	d := deployment{Output: stdout + stderr}
	var last struct {
		Type, Result string
		Changes      changes
	}
	for line := range strings.Lines(stdout) {
		var event struct {
			Type string
			Step struct {
				Op, Name        string
				Resource        string `json:"resourceType"`
				DefaultProvider bool
			}
		}
		require.NoError(p.T, json.Unmarshal([]byte(line), &event), "every line is JSON: %s", line)
		if event.Type == "step-done" && event.Step.Op != "same" {
			if event.Step.DefaultProvider {
				d.Providers = append(d.Providers, event.Step.Op+" "+event.Step.Resource)
			} else {
				d.Steps = append(d.Steps, event.Step.Op+" "+event.Step.Name)
			}
		}
		require.NoError(p.T, json.Unmarshal([]byte(line), &last))
	}
	require.Equal(p.T, "summary", last.Type, d.Output)
	d.Result, d.Changes = last.Result, last.Changes
	return d
}
