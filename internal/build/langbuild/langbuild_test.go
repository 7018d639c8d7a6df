package langbuild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/langbuild"
)

// A machine without a part of a toolchain is told what to install, and a crate that does not compile what the compiler says.
func TestWhatCargoLacks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	bin, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Cargo.toml"), nil, 0o644))
	for said, want := range map[string]string{
		"error: the `wasm32-wasip1` target may not be installed":            "there is no target wasm32-wasip1 to build it with: run rustup target add wasm32-wasip1, or name a .wasm file",
		"error: rustup could not choose a version of cargo to run, because": "there is no toolchain to build it with: run rustup default stable and",
		"error: Could not find specification for target \"wasm32-wasip1\"":  "there is no target wasm32-wasip1 in its version to build it with: install Rust 1.82",
		"error[E0425]: cannot find value `a` in this scope":                 "cannot build the provider in " + dir + ":\nerror[E0425]: cannot find value `a` in this scope",
	} {
		t.Setenv("HUSK_NEW_CONFIG_PASSPHRASE", "hunter2")
		require.NoError(t, os.WriteFile(filepath.Join(bin, "cargo"), []byte("#!/bin/sh\necho '"+said+"'$HUSK_NEW_CONFIG_PASSPHRASE >&2\nexit 101\n"), 0o755))
		t.Setenv("PATH", bin)
		_, err := langbuild.Of(dir).Build(t.Context(), dir, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2", "what builds runs code of the source")
	}
	t.Setenv("PATH", t.TempDir())
	_, err := langbuild.Of(dir).Build(t.Context(), dir, nil)
	require.ErrorContains(t, err, "there is no cargo command to build it with: install Rust from https://rustup.rs")
}

// Source of which no module can be built is refused with what the author can do, and no tool is run for it.
func TestSourceWithoutAnSDK(t *testing.T) {
	const component, process = "list the directory under packages", "runs as a process without a sandbox"
	for name, c := range map[string]struct {
		files []string
		want  []string // nil if the source is not refused
	}{
		"a package of Python":             {[]string{"pyproject.toml"}, []string{"there is no SDK for modules in Python", "Pulumi's SDK for Python", process}},
		"a script in Python":              {[]string{"app.py"}, []string{"there is no SDK for modules in Python", process}},
		"components in Python":            {[]string{"PulumiPlugin.yaml", "__main__.py", "pyproject.toml"}, []string{"PulumiPlugin.yaml", component, process}},
		"components in Node.js":           {[]string{"PulumiPlugin.yaml", "package.json", "index.ts"}, []string{"PulumiPlugin.yaml", component, process}},
		"components in YAML":              {[]string{"PulumiPlugin.yaml"}, []string{"PulumiPlugin.yaml", component}},
		"Go with scripts in Python":       {[]string{"main.go", "generate.py", "PulumiPlugin.yaml"}, nil},
		"a directory without source code": {[]string{"README.md"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
			}
			require.Nil(t, langbuild.Of(dir))
			err := langbuild.Refused(dir)
			if c.want == nil {
				require.NoError(t, err)
			}
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
				require.ErrorContains(t, err, dir)
			}
		})
	}
}

// The search for Zig in Python's packages runs no code of the working directory or of the source.
func TestTheSourceIsNotTakenForZig(t *testing.T) {
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("needs Python, and starts it by a shell script")
	}
	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nexec " + strings.TrimSpace(string(python)) + " -S \"$@\"\n" // without the packages of this machine
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "husk.c"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ziglang.py"), []byte("open('ran', 'w')\n"), 0o644))
	t.Setenv("PATH", bin)
	t.Chdir(dir)
	_, err = langbuild.Of(dir).Build(t.Context(), dir, nil)
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "ran"))

	// A package of Python's has it.
	packages := filepath.Join(t.TempDir(), "ziglang")
	require.NoError(t, os.Mkdir(packages, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(packages, "__init__.py"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(packages, "zig"), []byte("#!/bin/sh\necho \"zig in $PWD\" >&2\nexit 1\n"), 0o755))
	t.Setenv("PYTHONPATH", filepath.Dir(packages))
	_, err = langbuild.Of(dir).Build(t.Context(), dir, nil)
	require.ErrorContains(t, err, "zig in "+dir)
	require.NoFileExists(t, filepath.Join(dir, "ran"))
}
