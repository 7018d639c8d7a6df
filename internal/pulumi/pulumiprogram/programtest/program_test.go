// Package programtest runs programs with the published SDKs of Pulumi, as their users have them.
package programtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/workspace"
)

func TestMain(m *testing.M) {
	cache, err := testmodule.Cache()
	if err == nil {
		err = errors.Join(os.Setenv("HUSK_CACHE_DIR", cache), os.Setenv("HUSK_CONFIG_PASSPHRASE", "of the tests"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmodule.Main(m)
}

// project is one project on disk.
type project struct {
	t    *testing.T
	dir  string
	stop chan struct{}
	// runtime and providers are those of the project file.
	runtime, providers string
	// said is called with each diagnostic.
	said func(engine.Diagnostic)

	text bytes.Buffer
}

func newProject(t *testing.T, runtime string) *project {
	t.Helper()
	testmodule.Skip(t)
	p := &project{t: t, dir: t.TempDir(), runtime: runtime}
	p.provider("random", "../../../../examples/providers/random")
	return p
}

// provider adds a provider to the project file, with its grants.
func (p *project) provider(name, source string, grants ...string) {
	p.t.Helper()
	p.providers += fmt.Sprintf("    - {name: %s, path: %s, grants: {%s}}\n", name, testmodule.File(p.t, source), strings.Join(grants, ", "))
	p.file("")
}

// file writes the project file, with a text at its end.
func (p *project) file(more string) {
	p.t.Helper()
	p.write("Pulumi.yaml", "name: shop\nruntime: "+p.runtime+"\nconfig:\n  color: {type: string, default: red}\n"+
		"  pulumi:tags: {value: {\"pulumi:template\": typescript}}\nplugins:\n  providers:\n"+p.providers+more)
}

// newNode returns a project with a program for Node.js.
func newNode(t *testing.T, program string) *project {
	t.Helper()
	modules := sdktest.Node(t)
	p := newProject(t, "nodejs")
	require.NoError(t, os.Symlink(modules, filepath.Join(p.dir, "node_modules")))
	p.write("package.json", `{"name": "shop", "main": "index.js"}`)
	p.program(program)
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

func (p *project) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	require.NoError(p.t, err)
	return string(text)
}

// baseline returns the module of a policy pack.
func (p *project) baseline() string {
	return testmodule.File(p.t, "../../../../examples/policies/baseline")
}

// program writes a program for Node.js.
func (p *project) program(text string) {
	p.t.Helper()
	p.write("index.js", "const pulumi = require('@pulumi/pulumi');\nconst random = require('@pulumi/random');\n"+text)
}

func (p *project) stack() *automation.Stack {
	p.t.Helper()
	opened, err := automation.Open(p.t.Context(), p.dir, automation.Options{})
	require.NoError(p.t, err)
	s, err := opened.Stack("dev")
	require.NoError(p.t, err)
	return s
}

func (p *project) options() automation.RunOptions {
	p.text.Reset()
	return automation.RunOptions{Progress: &p.text, Stop: p.stop, Events: func(e engine.Event) {
		if d, ok := e.(engine.Diagnostic); ok && p.said != nil {
			p.said(d)
		}
	}}
}

func (p *project) run(o engine.Operation) (*engine.Result, error) {
	return p.stack().Run(context.Background(), o, p.options())
}

func (p *project) preview() (*engine.Result, error) {
	return p.stack().Preview(context.Background(), engine.Up{}, p.options())
}

// up updates the stack, and returns what changed.
func (p *project) up() engine.Changes {
	p.t.Helper()
	result, err := p.run(engine.Up{})
	require.NoError(p.t, err, p.text.String())
	return result.Changes
}

// output returns an output of the stack as text.
func (p *project) output(name string) string {
	p.t.Helper()
	outputs, err := p.stack().Outputs(p.t.Context())
	require.NoError(p.t, err)
	s, _ := outputs.Get(name).Plain().AsString()
	return s
}

// recorded returns a resource of the state.
func (p *project) recorded(name string) *state.Resource {
	p.t.Helper()
	w, err := workspace.Open(p.t.Context(), projectroot.New(p.dir, projectroot.Trusted), workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}})
	require.NoError(p.t, err)
	snapshot, _, err := w.Read(p.t.Context(), "dev", false)
	require.NoError(p.t, err)
	for _, r := range snapshot.Resources() {
		if r.URN.Name() == name {
			return r
		}
	}
	require.Fail(p.t, "the state has no such resource", name)
	return nil
}

// cycle previews, updates twice, refreshes, and destroys. The program makes that many resources.
func (p *project) cycle(resources int) {
	p.t.Helper()
	result, err := p.preview()
	require.NoError(p.t, err, p.text.String())
	require.Equal(p.t, resources, result.Changes.Create, p.text.String())
	require.Equal(p.t, resources, p.up().Create, p.text.String())
	require.Zero(p.t, p.up().Total(), p.text.String())
	result, err = p.run(engine.Refresh{})
	require.NoError(p.t, err)
	require.Zero(p.t, result.Changes.Total())
}

func (p *project) destroy(resources int) {
	p.t.Helper()
	result, err := p.run(engine.Destroy{})
	require.NoError(p.t, err)
	require.Equal(p.t, resources, result.Changes.Delete)
}
