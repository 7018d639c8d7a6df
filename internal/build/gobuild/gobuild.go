// Package gobuild builds provider modules from directories of Go source, with the Go toolchain of the
// machine. It does not load or check them.
package gobuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/husk-dev/husk/internal/base/blocking"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/build/netoverlay"
)

// arguments are the arguments of every build. c-shared makes a WASI reactor, a module that is called repeatedly. trimpath and
// buildvcs keep the machine and the commit out of the module, because the same source must give the same digest everywhere. The
// linker's -s would save 3 % of the size, but the stack of a trap needs the names of functions. wasm-opt saves 6 % at best, and
// calls are no faster (see docs/performance.md).
var arguments = []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false"}

// environment is added to the environment of the process.
var environment = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}

// Builder builds modules and keeps them in a directory. A build without a change takes some tens of
// milliseconds, because the go command knows every input and leaves a current output alone. A Builder is
// safe for concurrent use, also by several processes.
type Builder struct {
	// Dir holds the built modules, in a directory for each source directory.
	Dir string
}

// BuildDocumented is [Builder.Build] with the source's doc comments, unless overridden, in the schema.
func (b *Builder) BuildDocumented(ctx context.Context, dir string) ([]byte, error) {
	return b.build(ctx, dir, "documented.wasm", docFiles)
}

// Build builds the main package in dir and returns the module's bytes.
func (b *Builder) Build(ctx context.Context, dir string) ([]byte, error) {
	return b.build(ctx, dir, "module.wasm", nil)
}

// build builds a module of that name, with the files that more returns in place of others, unless it is nil.
func (b *Builder) build(ctx context.Context, dir, name string,
	more func(ctx context.Context, command, dir, place string) (map[string]string, error),
) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // the go command finds the module by the real path
	}
	if err != nil {
		return nil, err
	}
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("the module in %s is Go source, and there is no go command to build it with: "+
			"install Go from https://go.dev/dl, or name a .wasm file that \"husk provider build\" made elsewhere", dir)
	}
	place := filepath.Join(b.Dir, placeOf(dir))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for built modules: %w", err)
	}
	// Two builds with one output would tear it.
	unlock, err := blocking.Call(ctx, lockedfile.MutexAt(filepath.Join(place, "lock")).Lock, func(unlock func()) { unlock() })
	if err != nil {
		return nil, fmt.Errorf("locking the directory for built modules: %w", err)
	}
	defer unlock()
	network, err := networkOf(ctx, command, dir, place)
	if err != nil {
		return nil, err
	}
	files := network.Files
	if more != nil {
		further, err := more(ctx, command, dir, place)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, further)
	}
	overlay := filepath.Join(place, "overlay.json")
	if err := writeOverlay(overlay, files); err != nil {
		return nil, err
	}
	output := filepath.Join(place, name)
	if err := run(ctx, network, dir, output, "-overlay", overlay); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(output)
	if err != nil {
		return nil, fmt.Errorf("reading the built module: %w", err)
	}
	return module, nil
}

// placeOf returns the name of the directory of the modules built from dir: readable, and unique.
func placeOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Base(dir) + "-" + hex.EncodeToString(sum[:8])
}

// networkOf returns the files that give a module a network. A module that needs none gets no files, if its release of Go is
// unknown.
func networkOf(ctx context.Context, command, dir, place string) (*netoverlay.Network, error) {
	network, err := netoverlay.New(ctx, command, dir, place)
	if unknown, ok := errors.AsType[*netoverlay.UnsupportedGoError](err); ok {
		packages, listErr := list(ctx, command, dir)
		if listErr == nil && slices.ContainsFunc(packages, func(p *goPackage) bool { return p.ImportPath == "net" }) {
			return nil, fmt.Errorf("cannot build the module in %s: %w", dir, unknown)
		}
		return &netoverlay.Network{Files: map[string]string{}, Command: command}, nil
	}
	return network, err
}

// writeOverlay writes the file for the go command's flag -overlay.
func writeOverlay(path string, files map[string]string) error {
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the list of files for the build: %w", err)
	}
	return nil
}

// building is held by the one build that runs. The go command uses all processors itself, and two of them at once
// would both compile the packages that neither finds in the cache, Go's library above all.
var building = make(chan struct{}, 1)

func run(ctx context.Context, with *netoverlay.Network, dir, output string, flags ...string) error {
	select {
	case building <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-building }()
	cmd := exec.CommandContext(ctx, with.Command, slices.Concat(arguments, flags, []string{"-o", output, "."})...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(named.Environment(), environment, with.Env)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := processgroup.Run(ctx, cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return compileError(dir, withoutDownloads(text.String()))
	case errors.As(err, &exit):
		return fmt.Errorf("building the provider in %s was cut off: %w", dir, err) // a signal
	default:
		return fmt.Errorf("running %s: %w", with.Command, err)
	}
}

// withoutDownloads drops the go command's reports of progress.
func withoutDownloads(output string) string {
	var kept []string
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "go: downloading ") {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, ""), "\n")
}

// compileError returns the error for the output of the go command, in which paths begin at dir, with a
// hint for readers who do not know how a provider is built.
func compileError(dir, output string) error {
	message := fmt.Sprintf("cannot build the module in %s:\n%s", dir, output)
	for _, h := range []struct{ output, hint string }{
		{"requires exactly one main package", "a provider is a main package: its directory needs \"package main\" with a main function"},
		{"go.mod file not found", "a provider's source belongs to a Go module: run \"go mod init\" there"},
		{"c-shared not supported", "providers need Go 1.24 or newer"},
	} {
		if strings.Contains(output, h.output) {
			message += "\n" + h.hint
			break
		}
	}
	return errors.New(message)
}
