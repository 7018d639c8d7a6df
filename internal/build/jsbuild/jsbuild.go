// Package jsbuild builds provider modules from directories with a package.json: it bundles their JavaScript or TypeScript with the
// esbuild of the project, and links the bundle with the engine that the project's package @husk/provider has.
package jsbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// Manifest is the file that a directory with JavaScript or TypeScript has.
const Manifest = "package.json"

// sdk is the package of npm with the SDK and the engine.
const sdk = "@husk/provider"

// entries are the files that a provider may begin with, if its package.json names none.
var entries = []string{"index.ts", "index.js", "index.mjs", "src/index.ts", "src/index.js"}

// modules are those of Node.js, which no bundle contains: the engine has some, and says of the others what to do instead.
var modules = []string{
	"assert", "async_hooks", "buffer", "child_process", "cluster", "constants", "crypto", "dgram", "diagnostics_channel", "dns", "domain",
	"events", "fs", "fs/promises", "http", "http2", "https", "inspector", "module", "net", "os", "path", "path/posix", "perf_hooks", "process",
	"punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys", "timers", "timers/promises", "tls", "tty", "url", "util",
	"v8", "vm", "worker_threads", "zlib",
}

// Build builds the provider in dir and returns the module's bytes.
func Build(ctx context.Context, dir string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	wasm, err := build(ctx, dir)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("cannot build the provider in %s: %w", dir, err)
	}
	return wasm, err
}

func build(ctx context.Context, dir string) ([]byte, error) {
	entry, err := entryOf(dir)
	if err != nil {
		return nil, err
	}
	library := find(dir, sdk)
	if library == "" {
		return nil, fmt.Errorf("it has no package %s in node_modules: run \"npm install\" there, or \"npm install %s\" if package.json does not list it", sdk, sdk)
	}
	engine, err := os.ReadFile(filepath.Join(library, "engine.wasm"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no engine.wasm: it is a checkout, where %s makes it", library, filepath.Join(library, "engine", "build.sh"))
	}
	if err != nil {
		return nil, err
	}
	main, err := bundle(ctx, dir, entry)
	if err != nil {
		return nil, err
	}
	files, err := scripts(library)
	if err != nil {
		return nil, err
	}
	wasm, err := Link(engine, append(files, File{"main", main}))
	if err != nil {
		return nil, fmt.Errorf("linking it with %s: %w", filepath.Join(library, "engine.wasm"), err)
	}
	return wasm, nil
}

// entryOf returns the file that a provider begins with, relative to its directory.
func entryOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, Manifest))
	if err != nil {
		return "", err
	}
	var project struct{ Main string }
	if err := json.Unmarshal(text, &project); err != nil {
		return "", fmt.Errorf("package.json: %w", err)
	}
	if project.Main != "" {
		return project.Main, nil
	}
	for _, name := range entries {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("its package.json has no \"main\", and there is none of the files %s", strings.Join(entries, ", "))
}

// find returns the place of a name in node_modules, as Node.js looks for packages, or "".
func find(dir, name string) string {
	return Find(dir, filepath.Join("node_modules", filepath.FromSlash(name)))
}

// Find returns the place of a file in a directory or in the first one above it that has it, or "".
func Find(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// scripts returns the files of the SDK.
func scripts(library string) ([]File, error) {
	paths, err := filepath.Glob(filepath.Join(library, "*.js"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var files []File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := "./" + filepath.Base(path)
		if name == "./index.js" {
			name = sdk
		}
		files = append(files, File{name, text})
	}
	return files, nil
}

// bundle returns the entry with all that it imports, but for the SDK. Without esbuild, it is the file itself, whose only import is
// the SDK then.
func bundle(ctx context.Context, dir, entry string) ([]byte, error) {
	program := "esbuild"
	if runtime.GOOS == "windows" {
		program += ".cmd"
	}
	esbuild := find(dir, ".bin/"+program)
	if esbuild == "" {
		if slices.Contains([]string{".js", ".mjs"}, filepath.Ext(entry)) {
			return os.ReadFile(filepath.Join(dir, entry))
		}
		return nil, fmt.Errorf("%s has to be translated to JavaScript, and there is no esbuild in node_modules: run \"npm install\" there, or \"npm install --save-dev esbuild\"", entry)
	}
	args := []string{
		entry, "--bundle", "--format=esm", "--platform=browser", "--target=es2023", "--charset=utf8", "--legal-comments=none", "--log-level=warning", "--color=false",
		"--external:" + sdk, "--external:node:*",
	}
	for _, name := range modules {
		args = append(args, "--external:"+name)
	}
	cmd := exec.CommandContext(ctx, esbuild, args...)
	cmd.Dir, cmd.Env = dir, named.Environment()
	text, err := processgroup.Output(ctx, cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("esbuild does not bundle %s:\n%s", entry, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", esbuild, err)
	}
	return text, nil
}
