package strangertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Source is a project with code that runs outside of the sandbox, if it runs.
type Source struct {
	Name string
	// Project is the project file without its name.
	Project string
	// Files are the files of the project, and of the directory that it is in. Those of its own tools run as programs.
	Files map[string]string
	// Runs are the arguments of a command that runs the code in a project that is trusted, nil if none does.
	Runs []string
}

// Tools are the programs that run code of a project, or of what it names. Each can be in PATH. The go command is not among them: it
// runs nothing that it builds.
var Tools = []string{
	"cargo", "rustc", "rustup", "zig", "cc", "clang", "make", "node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "esbuild", "tsc", "python3", "python", "pip", "uv",
	"poetry", "git", "dotnet", "java", "pulumi-language-dotnet", "sh", "bash",
}

// own is a program of the stranger's, which notes that it has run.
const own = "#!/bin/sh\n: >\"$STRANGER_RAN\"\nexit 1\n"

// sdkOfNode is what programs for Node.js need to be started.
const sdkOfNode = "node_modules/@pulumi/pulumi/package.json"

// sdkOfPython is what a virtual environment has with the SDK for providers, and ofNothing is the digest of an empty engine.
const (
	sdkOfPython = "lib/python3.13/site-packages/husk_provider/_files.py"
	ofNothing   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// Keys of a project file that name the directory src.
const (
	provider   = "plugins: {providers: [{name: x, path: src}]}" + uses
	policies   = "policies: [src]\n"
	program    = "runtime: wasm\nmain: src\n"
	components = "packages: {x: ./src}" + uses
)

// Sources are the kinds of code that a project can have.
var Sources = []Source{
	{"a provider in Rust", provider, map[string]string{"src/Cargo.toml": "", "src/build.rs": ""}, []string{"preview"}},
	{"a provider in C", provider, map[string]string{"src/main.c": ""}, []string{"preview"}},
	{"a provider in TypeScript", provider, map[string]string{
		"src/package.json": "{}", "src/index.ts": "", "src/node_modules/.bin/esbuild": own,
		"src/node_modules/@husk/provider/engine.wasm": "", "src/node_modules/@husk/provider/engine.sha256": ofNothing,
	}, []string{"preview"}},
	{"a provider in TypeScript with packages above the project", provider, map[string]string{
		"src/package.json": "{}", "src/index.ts": "", "../node_modules/.bin/esbuild": own,
		"../node_modules/@husk/provider/engine.wasm": "", "../node_modules/@husk/provider/engine.sha256": ofNothing,
	}, nil},
	{"a provider in Python", provider, map[string]string{
		"src/pyproject.toml": "", "src/provider.py": "", "src/.venv/bin/python": own, "src/.venv/" + sdkOfPython: "",
	}, []string{"preview"}},
	{"a provider in Python with packages above the project", provider, map[string]string{
		"src/pyproject.toml": "", "src/provider.py": "", "../.venv/bin/python": own, "../.venv/" + sdkOfPython: "",
	}, nil},
	{"a program as a module, in Rust", program, map[string]string{"src/Cargo.toml": "", "src/build.rs": ""}, []string{"preview"}},
	{"a program as a module, in TypeScript", program, map[string]string{
		"src/package.json": `{"husk": {"world": "program"}}`, "src/index.ts": "", "src/node_modules/.bin/esbuild": own,
		"src/node_modules/@husk/provider/engine.wasm": "", "src/node_modules/@husk/provider/engine.sha256": ofNothing,
	}, []string{"preview"}},
	{"a policy pack in Rust", policies, map[string]string{"src/Cargo.toml": "", "src/build.rs": ""}, []string{"preview"}},
	{"components in Node.js", components, map[string]string{
		"src/PulumiPlugin.yaml": "runtime: nodejs\n", "src/index.js": "", "src/" + sdkOfNode: "{}",
	}, []string{"preview"}},
	{"components in Python", components, map[string]string{
		"src/PulumiPlugin.yaml": "runtime: {name: python, options: {virtualenv: venv}}\n", "src/__main__.py": "", "src/venv/bin/python": own,
	}, []string{"preview"}},
	{"a policy pack in Node.js", policies, map[string]string{
		"src/PulumiPolicy.yaml": "runtime: nodejs\n", "src/index.js": "", "src/" + sdkOfNode: "{}",
	}, []string{"preview"}},
	{"a policy pack in Python", policies, map[string]string{
		"src/PulumiPolicy.yaml": "runtime: {name: python, options: {virtualenv: venv}}\n", "src/__main__.py": "", "src/venv/bin/python": own,
	}, []string{"preview"}},
	{"a native plugin", "plugins: {providers: [{name: x, path: src/plugin, native: true}]}" + uses, map[string]string{"src/plugin": own}, []string{"preview"}},
	{"a program in Node.js", "runtime: nodejs\n", map[string]string{"index.js": "", sdkOfNode: "{}"}, []string{"preview"}},
	{"a program in Node.js with its SDK above the project", "runtime: nodejs\n", map[string]string{"index.js": "", "../" + sdkOfNode: "{}"}, []string{"preview"}},
	{"a program in Python", "runtime: {name: python, options: {virtualenv: venv}}\n", map[string]string{"__main__.py": "", "venv/bin/python": own}, []string{"preview"}},
	{"a program in Python with Poetry", "runtime: {name: python, options: {toolchain: poetry}}\n", map[string]string{"__main__.py": ""}, []string{"preview"}},
	{"a program that is there", "runtime: {name: go, options: {binary: src/program}}\n", map[string]string{"src/program": own}, []string{"preview"}},
	{"a program in another language", "runtime: dotnet\n", map[string]string{"src/x.csproj": ""}, []string{"preview"}},
	{"a provider in git", "plugins: {providers: [{name: x, source: 'git+https://127.0.0.1/x.git', version: '1.0.0'}]}" + uses, nil, []string{"install"}},
}

// Sourced makes a project of a stranger with code, and puts tools into PATH and in place of all others. ran is the file that is
// there once any of the code or of the tools has run.
func Sourced(t *testing.T, s Source) (dir, ran string) {
	t.Helper()
	dir, bin := filepath.Join(t.TempDir(), "project"), t.TempDir()
	ran = filepath.Join(bin, "ran")
	t.Setenv("STRANGER_RAN", ran)
	t.Setenv("PATH", bin)
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := os.FileMode(0o644)
		if text == own {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	for _, tool := range Tools {
		write(filepath.Join(bin, tool), own)
	}
	write(filepath.Join(dir, "Husk.yaml"), "name: stranger\n"+s.Project)
	for name, text := range s.Files {
		write(filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir, ran
}
