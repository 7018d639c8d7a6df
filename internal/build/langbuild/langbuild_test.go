package langbuild_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/testkit/pythontest"
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
		"error[E0425]: cannot find value `a` in this scope":                 "cannot build the module in " + dir + ":\nerror[E0425]: cannot find value `a` in this scope",
	} {
		t.Setenv("HUSK_NEW_CONFIG_PASSPHRASE", "hunter2")
		require.NoError(t, os.WriteFile(filepath.Join(bin, "cargo"), []byte("#!/bin/sh\necho '"+said+"'$HUSK_NEW_CONFIG_PASSPHRASE >&2\nexit 101\n"), 0o755))
		t.Setenv("PATH", bin)
		_, err := langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2", "what builds runs code of the source")
	}
	t.Setenv("PATH", t.TempDir())
	_, err := langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
	require.ErrorContains(t, err, "there is no cargo command to build it with: install Rust from https://rustup.rs")
}

// Cargo is not started where it would take settings, a toolchain, or a workspace of a directory above the project's.
func TestWhatIsAboveACrate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	above, bin, home := t.TempDir(), t.TempDir(), t.TempDir()
	dir := filepath.Join(above, "project", "crate")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Cargo.toml"), nil, 0o644))
	workspace := func(dir string) {
		script := "#!/bin/sh\nif [ $1 = build ]; then echo cargo builds >&2; exit 1; fi\necho " + filepath.Join(dir, "Cargo.toml") + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, "cargo"), []byte(script), 0o755))
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", home)
	t.Setenv("CARGO_HOME", "")
	build := func(root string) error {
		_, err := langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: root})
		return err
	}
	project := filepath.Join(above, "project")
	workspace(project)
	require.ErrorContains(t, build(project), "cargo builds")
	require.ErrorContains(t, build(dir), "cargo would take "+filepath.Join(project, "Cargo.toml")+", which is above "+dir)
	require.NoError(t, os.Mkdir(filepath.Join(above, ".cargo"), 0o755))
	for _, name := range []string{"rust-toolchain", "rust-toolchain.toml", ".cargo/config", ".cargo/config.toml"} {
		path := filepath.Join(above, filepath.FromSlash(name))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.ErrorContains(t, build(project), "cargo would take "+path)
		require.ErrorContains(t, build(above), "cargo builds")
		require.NoError(t, os.Remove(path))
	}
	require.NoError(t, os.WriteFile(filepath.Join(above, ".cargo", "config.toml"), nil, 0o644))
	t.Setenv("HOME", above)
	require.ErrorContains(t, build(project), "cargo builds", "these are the settings of the user")
	linked := filepath.Join(home, "linked")
	require.NoError(t, os.Symlink(above, linked))
	t.Setenv("HOME", linked)
	require.ErrorContains(t, build(project), "cargo builds", "these are the settings of the user")
}

// Source of which no module can be built is refused with what the author can do, and no tool is run for it.
func TestSourceWithoutAnSDK(t *testing.T) {
	const component, process = "list the directory under packages", "runs as a process without a sandbox"
	for name, c := range map[string]struct {
		files []string
		want  []string // nil if the source is not refused
	}{
		"a script in Python":              {[]string{"app.py"}, []string{"is Python source without a pyproject.toml", "husk new provider --language python"}},
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
	_, err = langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "ran"))

	// A package of Python's has it.
	packages := filepath.Join(t.TempDir(), "ziglang")
	require.NoError(t, os.Mkdir(packages, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(packages, "__init__.py"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(packages, "zig"), []byte("#!/bin/sh\necho \"zig in $PWD\" >&2\nexit 1\n"), 0o755))
	t.Setenv("PYTHONPATH", filepath.Dir(packages))
	_, err = langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
	require.ErrorContains(t, err, "zig in "+dir)
	require.NoFileExists(t, filepath.Join(dir, "ran"))
}

// The module of a provider in Python has its files and those of the packages that it requires, and the error says what the author can do.
func TestPython(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test makes pipes and links")
	}
	if testing.Short() {
		t.Skip("runs Python for each build")
	}
	python := pythontest.Find(t)
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	build := func() ([]byte, error) {
		return langbuild.Of(dir).Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
	}
	fails := func(want string) {
		_, err := build()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, dir)
	}
	ran := "open(" + strconv.Quote(filepath.Join(dir, "ran")) + ", 'w')\n"
	write("outside.txt", "of the machine")
	write("pyproject.toml", "[project]\nname = 'my-notes'\ndependencies = ['Some.Package[More_Words]>=1 ; python_version > \"3\"', 'nowhere; os_name == \"nt\"', 'husk-provider']\n")
	write("json.py", ran)
	fails("there is no virtual environment .venv to build it with: run python3 -m venv .venv there")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "inner"), 0o755))
	write("inner/pyproject.toml", "")
	out, err := exec.Command(python, "-m", "venv", "--without-pip", filepath.Join(dir, ".venv")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	inner := filepath.Join(dir, "inner")
	_, err = langbuild.Of(inner).Build(t.Context(), langbuild.Source{Dir: inner, Root: inner})
	require.ErrorContains(t, err, "there is no virtual environment .venv to build it with: ")
	require.ErrorContains(t, err, "husk looks up to "+inner)
	fails("there is no package husk-provider in its virtual environment to build it with: run " + filepath.Join(dir, ".venv", "bin", "pip") + " install .")
	places, err := filepath.Glob(filepath.Join(dir, ".venv", "lib", "python3*", "site-packages"))
	require.NoError(t, err)
	require.Len(t, places, 1)
	packages, err := filepath.Rel(dir, places[0])
	require.NoError(t, err)
	packages = filepath.ToSlash(packages)
	files, err := os.ReadFile("../../../guest-sdk/python/husk_provider/_files.py")
	require.NoError(t, err)
	write(packages+"/husk_provider/__init__.py", "SDK = 1\n")
	write(packages+"/husk_provider/_files.py", string(files))
	install := func(name, requires string, files ...string) {
		outside := filepath.Join(dir, "outside.txt")
		record := name + "-1.dist-info/METADATA,,\n" + outside + ",,\n" + name + "/.." + strings.Repeat("/..", strings.Count(packages, "/")+1) + "/outside.txt,,\n"
		for _, file := range files {
			write(packages+"/"+file, "# "+file+"\n"+ran)
			record += file + ",,\n"
		}
		write(packages+"/"+name+"-1.dist-info/METADATA", "Name: "+name+"\nVersion: 1\n"+requires)
		write(packages+"/"+name+"-1.dist-info/RECORD", record)
	}
	write(packages+"/startup.pth", "import os; "+ran)
	install("some_package", "Requires-Dist: other; extra == 'more-words'\nRequires-Dist: absent; extra == 'less'\n", "some_package/__init__.py", "some_package/data.txt")
	fails("some-package requires other")
	install("other", "", "other.py", "other.so")
	fails("the package other has native code (other.so), which no module runs: require one in Python only")
	require.NoError(t, os.Remove(filepath.Join(dir, filepath.FromSlash(packages), "other.so")))
	install("other", "Requires-Dist: Some-Package\n", "other.py")
	fails("there is no provider.py or main.py: name the module that has the provider in pyproject.toml")
	write("src/my_notes/__init__.py", ran)
	write("src/my_notes/words.txt", "words")
	require.NoError(t, os.Symlink("ann@host.1:2", filepath.Join(dir, "src", ".#provider.py")), "as Emacs has it during a change")
	require.NoError(t, exec.Command("mkfifo", filepath.Join(dir, "src", "pipe.py")).Run())
	write("src/my_notes/tests/test_notes.py", ran)
	fails("there is no " + filepath.Join(dir, packages, "husk_provider", "engine.wasm"))
	engine := func(text string) {
		sum := sha256.Sum256([]byte(text))
		write(packages+"/husk_provider/engine.wasm", text)
		write(packages+"/husk_provider/engine.sha256", hex.EncodeToString(sum[:])+"  engine.wasm\n")
	}

	// An engine is a module with the mark in its data, and a memory of two pages.
	engine("text")
	fails("linking the module in ")
	engine("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x02\x0b\x1e\x01\x00\x41\x10\x0b\x18husk:files\n\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	wasm, err := build()
	require.NoError(t, err)
	write(packages+"/husk_provider/engine.sha256", strings.Repeat("0", 64)+"  engine.wasm\n")
	fails("engine.wasm is not the engine that engine.sha256 beside it names: install the package anew")
	engine("text")
	for _, want := range []string{
		"main\x00my_notes\x00", "husk_provider/__init__.py\x00SDK", "some_package/__init__.py\x00#", "some_package/data.txt\x00#", "other.py\x00#",
		"some_package-1.dist-info/METADATA\x00Name: some_package", "my_notes/__init__.py\x00open", "my_notes/words.txt\x00words",
	} {
		require.Contains(t, string(wasm), want)
	}
	require.NotContains(t, string(wasm), "test_notes")
	require.NotContains(t, string(wasm), "of the machine", "a package names files of its own alone")
	require.NotContains(t, string(wasm), "json.py", "the source is in src")
	require.NoFileExists(t, filepath.Join(dir, "ran"), "no code of the project or of its packages runs")

	write("src/other.py", "")
	fails("its file other.py has the name of one in a package: rename it")
	require.NoError(t, os.Remove(filepath.Join(dir, "src", "other.py")))
	write("pyproject.toml", "[tool.husk]\nmain = 'nothing'\n")
	fails("tool.husk.main names nothing, and there is no such module")
	write(packages+"/other-1.dist-info/direct_url.json", `{"url": "file:///other", "dir_info": {"editable": true}}`)
	write("pyproject.toml", "[project]\ndependencies = ['other']\n")
	fails("the package other is installed from its source as editable")
	write("pyproject.toml", "[project]\ndynamic = ['dependencies']\n")
	fails("project.dependencies is a list of requirements, and not dynamic")
	write("pyproject.toml", "[tool]\nhusk = 'my_notes'\n")
	fails("tool.husk is a table")
	write("pyproject.toml", "\xff")
	fails("pyproject.toml: ")
	write("pyproject.toml", "[tool.husk\n")
	fails("pyproject.toml: ")
	write("src/my_notes/fast.so", "")
	write("pyproject.toml", "")
	fails("fast.so is native code, which no module runs")
}
