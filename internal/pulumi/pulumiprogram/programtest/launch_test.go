package programtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
)

// runtimeOptions has the project name options of its runtime.
func (p *project) runtimeOptions(runtime, options string) {
	p.t.Helper()
	p.runtime = "{name: " + runtime + ", options: {" + options + "}}"
	p.file("")
}

func TestTheConfigurationOfTypeScript(t *testing.T) {
	p := newNode(t, "")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "index.js")))
	p.write("package.json", `{"name": "shop", "main": "index.ts"}`)
	p.write("index.ts", "const unused = 1;\nexport const color = \"red\";\n")
	p.write("tsconfig.json", `{"compilerOptions": {"module": "commonjs", "target": "es2020"}}`)
	p.up()
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "config"), 0o755))
	p.write("config/strict.json", `{"compilerOptions": {"module": "commonjs", "target": "es2020", "noUnusedLocals": true}}`)
	p.runtimeOptions("nodejs", "tsconfig: config/strict.json")
	_, err := p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "index.ts(1,7): error TS6133")
	p.runtimeOptions("nodejs", "tsconfig: nowhere.json")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "Pulumi.yaml:2:")
	require.ErrorContains(t, err, "the configuration of TypeScript cannot be read")
}

func TestWhereAGoProgramIsBuilt(t *testing.T) {
	p := newGo(t)
	p.runtimeOptions("go", "buildTarget: bin/shop")
	p.up()
	require.FileExists(t, filepath.Join(p.dir, "bin", "shop"))
	p.write("main.go", "package main\n\nfunc main() { panic(\"built anew\") }\n")
	_, err := p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "panic: built anew")
	p.runtimeOptions("go", "binary: bin/shop")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the program exited with code 2")
	p.runtimeOptions("go", "binary: bin/shop, buildTarget: bin/shop")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "name one of them")
}

// script writes a shell script into a directory.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the test needs a shell")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755))
}

// The gRPC of old SDKs for Go asks the proxy for sockets, too.
func TestAGoProgramBehindAProxy(t *testing.T) {
	p := newProject(t, "go")
	p.runtimeOptions("go", "binary: bin/shop")
	script(t, filepath.Join(p.dir, "bin"), "shop", `echo "$PULUMI_MONITOR" >monitor`)
	for proxy, want := range map[string]string{"": "unix://", "http://proxy.example:3128": "127.0.0.1:"} {
		t.Setenv("HTTPS_PROXY", proxy)
		_, err := p.run(engine.Up{})
		require.ErrorContains(t, err, "without having registered anything")
		require.Contains(t, p.read("monitor"), want)
	}
}

// The path of a socket is bounded, and the directory for temporary files may be deep.
func TestADeepTemporaryDirectory(t *testing.T) {
	p := newProject(t, "go")
	p.runtimeOptions("go", "binary: bin/shop")
	script(t, filepath.Join(p.dir, "bin"), "shop", `echo "$PULUMI_MONITOR" >monitor`)
	deep := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	require.NoError(t, os.Mkdir(deep, 0o700))
	t.Setenv("TMPDIR", deep)
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "without having registered anything")
	require.Contains(t, p.read("monitor"), "unix:///tmp/husk-program-")
}

// Poetry says which virtual environment it has made for a program.
func TestPythonWithPoetry(t *testing.T) {
	environment, bin := sdktest.Python(t), t.TempDir()
	p := newProject(t, "python")
	p.runtimeOptions("python", "toolchain: poetry")
	p.write("__main__.py", "import sys\nprint('run by', sys.prefix)\nimport pulumi\n")
	p.write("pyproject.toml", "")
	t.Setenv("PATH", bin)
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "the toolchain poetry needs Poetry: install it")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	script(t, bin, "poetry", "echo 'the lock file is old' >&2; exit 1\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "make it with poetry install\n    the lock file is old")
	script(t, bin, "poetry", fmt.Sprintf("[ \"$*\" = 'env info --path' ] && [ -f pyproject.toml ] && echo '%s'\n", environment))
	p.up()
	require.Contains(t, p.text.String(), "run by "+environment)
}

// uv has one virtual environment for all programs of a workspace.
func TestPythonWithUV(t *testing.T) {
	environment := sdktest.Python(t)
	p := newProject(t, "python")
	p.runtimeOptions("python", "toolchain: uv")
	p.write("__main__.py", "import sys\nprint('run by', sys.prefix)\nimport pulumi\n")
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "the virtual environment of the program has no "+filepath.Join(p.dir, ".venv", "bin", "python")+": make it with uv sync,")
	workspace := filepath.Dir(p.dir)
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "uv.lock"), nil, 0o600))
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the virtual environment of the program has no "+filepath.Join(workspace, ".venv"))
	name, err := filepath.Rel(workspace, environment)
	require.NoError(t, err)
	t.Setenv("UV_PROJECT_ENVIRONMENT", name)
	p.up()
	require.Contains(t, p.text.String(), "run by "+environment)
}

// A type checker of the environment runs before the program, which does not run if it finds something.
func TestPythonWithATypeChecker(t *testing.T) {
	environment, own := sdktest.Python(t), t.TempDir()
	p := newProject(t, "python")
	script(t, filepath.Join(own, "bin"), "python", fmt.Sprintf(`python='%s'
case "$1 $2" in
"-m mypy") grep -n 'x: int = "text"' "$3/__main__.py" || exit 0; echo 'error: Incompatible types in assignment'; exit 1 ;;
"-m pyright") exec "$python" "$@" ;; # which is not installed
esac
exec "$python" "$@"
`, filepath.Join(environment, "bin", "python")))
	p.runtimeOptions("python", "virtualenv: "+own+", typechecker: mypy")
	p.write("__main__.py", "import pulumi\nprint('it runs')\n")
	p.up()
	require.Contains(t, p.text.String(), "it runs")
	p.write("__main__.py", "import pulumi\nprint('it runs')\nx: int = \"text\"\n")
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "the type checker mypy refuses the program (exit status 1):\n    3:x: int = \"text\"\n    error: Incompatible types in assignment")
	require.NotContains(t, p.text.String(), "it runs")
	p.runtimeOptions("python", "virtualenv: "+own+", typechecker: pyright")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the type checker pyright is not installed: add it to the packages of the program")
	p.runtimeOptions("python", "virtualenv: "+own+", typechecker: pytype")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, `Pulumi.yaml:2:`)
	require.ErrorContains(t, err, `does not support the type checker "pytype", but mypy and pyright`)
}
