// Package jsbuild builds providers and programs from directories with a package.json: it bundles their JavaScript or TypeScript with the
// esbuild of the project, and links the bundle with the engine that the project's package @husk/provider has.
package jsbuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// Manifest is the file that a directory with JavaScript or TypeScript has.
const Manifest = "package.json"

// sdk is the package of npm with the SDK and the engine.
const sdk = "@husk/provider"

// entries are the files that a module may begin with, if its package.json names none.
var entries = []string{"index.ts", "index.js", "index.mjs", "src/index.ts", "src/index.js"}

// modules are those of Node.js, which no bundle contains: the engine has some, and says of the others what to do instead.
var modules = []string{
	"assert", "async_hooks", "buffer", "child_process", "cluster", "constants", "crypto", "dgram", "diagnostics_channel", "dns", "domain",
	"events", "fs", "fs/promises", "http", "http2", "https", "inspector", "module", "net", "os", "path", "path/posix", "perf_hooks", "process",
	"punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys", "timers", "timers/promises", "tls", "tty", "url", "util",
	"v8", "vm", "worker_threads", "zlib",
}

// Build builds the provider or program in dir and returns the module's bytes. It takes packages and tools from node_modules of dir, or of a
// directory above it, up to root. Both paths are absolute.
func Build(ctx context.Context, dir, root string) ([]byte, error) {
	wasm, err := build(ctx, dir, root)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("cannot build the module in %s: %w", dir, err)
	}
	return wasm, err
}

func build(ctx context.Context, dir, root string) ([]byte, error) {
	entry, world, err := manifestOf(dir)
	if err != nil {
		return nil, err
	}
	library := find(dir, root, sdk)
	if library == "" {
		return nil, fmt.Errorf("it has no package %s in node_modules: run \"npm install\" there, or \"npm install %s\" if package.json does not list it%s", sdk, sdk, UpTo(root))
	}
	engine, err := Engine(library, filepath.Join(library, "engine", "build.sh"))
	if err != nil {
		return nil, err
	}
	main, err := bundle(ctx, dir, root, entry)
	if err != nil {
		return nil, err
	}
	files, err := scripts(library)
	if err != nil {
		return nil, err
	}
	wasm, err := Link(engine, world, append(files, File{"main", main}))
	if err != nil {
		return nil, fmt.Errorf("linking it with %s: %w", filepath.Join(library, "engine.wasm"), err)
	}
	return wasm, nil
}

// manifestOf returns what a package.json says: the file that a module begins with, relative to its directory, and the module's world.
func manifestOf(dir string) (entry string, world World, err error) {
	text, err := os.ReadFile(filepath.Join(dir, Manifest))
	if err != nil {
		return "", "", err
	}
	var project struct {
		Main string
		Husk struct{ World string }
	}
	if err := json.Unmarshal(text, &project); err != nil {
		return "", "", fmt.Errorf("package.json: %w", err)
	}
	switch project.Husk.World {
	case "", "provider":
		world = Provider
	case "program":
		world = Program
	default:
		return "", "", fmt.Errorf("package.json: the world of husk is provider or program, and not %q", project.Husk.World)
	}
	if project.Main != "" {
		return project.Main, world, nil
	}
	for _, name := range entries {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name, world, nil
		}
	}
	return "", "", fmt.Errorf("its package.json has no \"main\", and there is none of the files %s", strings.Join(entries, ", "))
}

// Engine returns the engine of a package with the SDK, whose digest the package names. script makes it in a checkout.
func Engine(library, script string) ([]byte, error) {
	path := filepath.Join(library, "engine.wasm")
	engine, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: the package is of a checkout, where %s makes it", path, script)
	}
	if err != nil {
		return nil, err
	}
	want, err := os.ReadFile(filepath.Join(library, "engine.sha256"))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(engine); !bytes.HasPrefix(want, hex.AppendEncode(nil, sum[:])) {
		return nil, fmt.Errorf("%s is not the engine that engine.sha256 beside it names: install the package anew", path)
	}
	return engine, nil
}

// find returns the place of a name in node_modules, as Node.js looks for packages, or "".
func find(dir, root, name string) string {
	return Find(dir, root, filepath.Join("node_modules", filepath.FromSlash(name)))
}

// Find returns the place of a file in a directory or in the first one above it, up to root, that has it, or "".
func Find(dir, root, name string) string {
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if len(dir) <= len(root) || above == dir {
			return ""
		}
		dir = above
	}
}

// UpTo says in an error where [Find] has looked.
func UpTo(root string) string {
	return "; husk looks up to " + root + ", the directory of the project, or else the one that it runs in"
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
func bundle(ctx context.Context, dir, root, entry string) ([]byte, error) {
	program := "esbuild"
	if runtime.GOOS == "windows" {
		program += ".cmd"
	}
	esbuild := find(dir, root, ".bin/"+program)
	if esbuild == "" {
		if slices.Contains([]string{".js", ".mjs"}, filepath.Ext(entry)) {
			return os.ReadFile(filepath.Join(dir, entry))
		}
		return nil, fmt.Errorf("%s has to be translated to JavaScript, and there is no esbuild in node_modules: run \"npm install\" there, or \"npm install --save-dev esbuild\"%s", entry, UpTo(root))
	}
	work, err := os.MkdirTemp("", "husk-esbuild-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	made, meta := filepath.Join(work, "main.js"), filepath.Join(work, "meta.json")
	settings := "--tsconfig-raw={}"
	if file := Find(dir, root, "tsconfig.json"); file != "" {
		settings = "--tsconfig=" + file
	}
	args := []string{
		entry, settings, "--outfile=" + made, "--metafile=" + meta, "--bundle", "--format=esm", "--platform=browser", "--target=es2023", "--charset=utf8", "--legal-comments=none", "--log-level=warning", "--color=false",
		"--external:" + sdk, "--external:node:*",
	}
	for _, name := range modules {
		args = append(args, "--external:"+name)
	}
	cmd := exec.CommandContext(ctx, esbuild, args...)
	cmd.Dir, cmd.Env = dir, named.Environment()
	_, err = processgroup.Output(ctx, cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("esbuild does not bundle %s:\n%s", entry, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", esbuild, err)
	}
	if err := nothingAbove(meta, dir, root); err != nil {
		return nil, err
	}
	return os.ReadFile(made)
}

// nothingAbove returns an error if a bundle, which a file of esbuild describes, has packages of a directory above root: esbuild looks there, too.
func nothingAbove(meta, dir, root string) error {
	text, err := os.ReadFile(meta)
	if err != nil {
		return err
	}
	var bundle struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal(text, &bundle); err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as esbuild does with all files
		return err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	const separator = string(filepath.Separator)
	for path := range bundle.Inputs {
		path = filepath.Join(dir, filepath.FromSlash(path))
		at, _, found := strings.Cut(path, separator+"node_modules"+separator)
		if found && confined.IsBelow(at+separator, root) {
			return fmt.Errorf("the package of %s is in a directory above: install it in the provider's%s", path, UpTo(root))
		}
	}
	return nil
}
