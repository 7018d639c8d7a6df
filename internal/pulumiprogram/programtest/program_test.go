// Package programtest runs programs with the published SDKs of Pulumi, as their users have them. It installs
// the SDKs once, with npm and pip, and leaves out the programs of a language that is not there. If the variable CI is set,
// what cannot be fetched for a language that is there is a failure.
package programtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/testmodule"
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

// nodePackages and pythonPackages are what the programs use.
var (
	nodePackages   = []string{"@pulumi/pulumi@3.270.0", "@pulumi/random@4.21.2", "@pulumi/tls@5.6.1"}
	pythonPackages = []string{"pulumi==3.272.0", "pulumi_random==4.21.4"}
)

// installed returns a directory with packages, which install fills if it is not there yet.
func installed(t *testing.T, name string, install func(dir string) error) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "husk-test-programs", name)
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir
	}
	fetch(t, "the packages of the programs", func() error {
		return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), install(dir))
	})
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "complete"), nil, 0o644))
	return dir
}

// attempts is how often what a program needs is fetched before that counts as a failure.
const attempts = 3

// fetch fetches what a program needs. Without a network the test is left out, but not in CI, which would not notice.
func fetch(t *testing.T, what string, get func() error) {
	t.Helper()
	var err error
	for range attempts {
		if err = get(); err == nil {
			return
		}
	}
	fail := t.Skipf
	if os.Getenv("CI") != "" {
		fail = t.Fatalf
	}
	fail("%s cannot be had: %v", what, err)
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}

// node returns the directory node_modules with the SDK.
func node(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("Node.js is not installed (install the packages nodejs and npm)")
	}
	name := strings.NewReplacer("@", "-", "/", "-").Replace("node" + strings.Join(nodePackages, ""))
	dir := installed(t, name, func(dir string) error {
		return command(dir, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, nodePackages...)...)
	})
	return filepath.Join(dir, "node_modules")
}

// python returns a virtual environment with the SDK.
func python(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("Python is not installed (install the packages python3 and python3-venv)")
	}
	return installed(t, "python-"+strings.Join(pythonPackages, "-"), func(dir string) error {
		if err := command(dir, "python3", "-m", "venv", dir); err != nil {
			return err
		}
		return command(dir, filepath.Join(dir, "bin", "pip"), append([]string{"install", "--quiet"}, pythonPackages...)...)
	})
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
	p.provider("random", "../../../examples/providers/random")
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
	modules := node(t)
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
	return testmodule.File(p.t, "../../../examples/policies/baseline")
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
