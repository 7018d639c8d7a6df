// Package gobuild turns a directory of Go source into a provider module, with
// the Go toolchain of the machine. The command line uses it for providers whose
// path is a directory. It does not load or check what it built.
package gobuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/husk-dev/husk/internal/blocking"
)

// arguments are those of every build.
//
// c-shared makes a WASI reactor: a module that is called again and again instead
// of running main once. trimpath and buildvcs keep the machine and the commit out
// of the module, so that the same source gives the same digest everywhere. The
// linker's -s is not used: it would drop the names of functions, which cost 3 %
// of the size and make the stack of a trap readable. Neither is wasm-opt, which
// makes files 6 % smaller at best, and calls no faster (see bench/size).
var arguments = []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false"}

// environment is added to that of the process.
var environment = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}

// Builder builds modules and keeps them in a directory, so that a build without
// a change costs some tens of milliseconds: whether anything changed is decided
// by the go command, which knows every input (sources of all packages, embedded
// files, go.mod, settings) and leaves an output alone that is up to date.
//
// A Builder is safe for concurrent use, by several processes too.
type Builder struct {
	// Dir holds the built modules, in a directory for each source directory.
	Dir string
}

// BuildDocumented is [Builder.Build] for a module that others get: its schema has the
// doc comments of the source, where the program says nothing else.
func (b *Builder) BuildDocumented(ctx context.Context, dir string) ([]byte, error) {
	return b.build(ctx, dir, "documented.wasm", documented)
}

// Build builds the main package in dir and returns the module's bytes. The error
// is a [*NoToolchainError], a [*Error] with what the compiler said, or that of
// the file system.
func (b *Builder) Build(ctx context.Context, dir string) ([]byte, error) {
	return b.build(ctx, dir, "module.wasm", nil)
}

// build builds a module of that name, with the flags that more answers, if it is not nil.
func (b *Builder) build(ctx context.Context, dir, name string,
	more func(ctx context.Context, command, dir, place string) ([]string, error),
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
		return nil, &NoToolchainError{Dir: dir}
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
	var flags []string
	if more != nil {
		if flags, err = more(ctx, command, dir, place); err != nil {
			return nil, err
		}
	}
	output := filepath.Join(place, name)
	if err := run(ctx, command, dir, output, flags...); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(output)
	if err != nil {
		return nil, fmt.Errorf("reading the built module: %w", err)
	}
	return module, nil
}

// placeOf names the directory of the modules built from dir: readable first,
// and different for each dir.
func placeOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Base(dir) + "-" + hex.EncodeToString(sum[:8])
}

// waitDelay is how long the Go command is waited for once it was killed: the compilers that it has
// started keep what it writes to open until they end.
const waitDelay = time.Second

func run(ctx context.Context, command, dir, output string, flags ...string) error {
	cmd := exec.CommandContext(ctx, command, slices.Concat(arguments, flags, []string{"-o", output, "."})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environment...)
	cmd.WaitDelay = waitDelay
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return &Error{Dir: dir, Output: withoutDownloads(said.String())}
	case errors.As(err, &exit):
		return fmt.Errorf("building the provider in %s was cut off: %w", dir, err) // a signal
	default:
		return fmt.Errorf("running %s: %w", command, err)
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

// NoToolchainError says that there is no go command.
type NoToolchainError struct{ Dir string }

// Error says what to do.
func (e *NoToolchainError) Error() string {
	return fmt.Sprintf("the provider in %s is Go source, and there is no go command to build it with: "+
		"install Go from https://go.dev/dl, or name a .wasm file that \"husk provider build\" made elsewhere", e.Dir)
}

// Error says that the go command could not build a provider.
type Error struct {
	// Dir is the directory of the source.
	Dir string
	// Output is what the go command said. Its paths begin at Dir.
	Output string
}

// Error gives the go command's words as they are.
func (e *Error) Error() string {
	message := fmt.Sprintf("cannot build the provider in %s:\n%s", e.Dir, e.Output)
	if hint := hintFor(e.Output); hint != "" {
		message += "\n" + hint
	}
	return message
}

// hintFor explains what the go command says to those who do not know how a
// provider is built.
func hintFor(output string) string {
	for _, h := range []struct{ said, hint string }{
		{"requires exactly one main package", "a provider is a main package: its directory needs \"package main\" with a main function"},
		{"go.mod file not found", "a provider's source belongs to a Go module: run \"go mod init\" there"},
		{"c-shared not supported", "providers need Go 1.24 or newer"},
	} {
		if strings.Contains(output, h.said) {
			return h.hint
		}
	}
	return ""
}
