// Package langbuild builds modules from source in other languages than Go, with the tools of the machine.
package langbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/build/jsbuild"
)

// Language is one that providers are written in.
type Language struct {
	// Name is that of the directory of its SDK.
	Name string
	// is reports whether a directory, which has no Go source, is one of the language.
	is    func(dir string) bool
	build func(ctx context.Context, s Source) ([]byte, error)
	// programs reports whether a module of the language may be a program.
	programs bool
}

// Source is what a module is built from.
type Source struct {
	// Dir has the source. What is not there may be in a directory above it, up to Root: packages, and tools of the source's own.
	Dir, Root string
	// SDK has the files of the SDK for directories without.
	SDK fs.FS
}

// languages are all of them. The first that a directory is of counts.
var languages = []Language{
	{"c", hasC, buildC, false},
	{"rust", hasRust, buildRust, true},
	{"typescript", hasPackage, buildPackage, true},
	{"python", hasPython, buildPython, false},
}

// pulumiManifest is the file of a package of Pulumi's SDK, whose source an SDK of Pulumi runs.
const pulumiManifest = "PulumiPlugin.yaml"

func hasPackage(dir string) bool { return has(dir, jsbuild.Manifest) && !has(dir, pulumiManifest) }

// buildPackage builds a package of npm, which has its SDK and its tools.
func buildPackage(ctx context.Context, s Source) ([]byte, error) {
	return jsbuild.Build(ctx, s.Dir, s.Root)
}

// Of returns the language of the source in a directory, nil for Go, or for none.
func Of(dir string) *Language {
	if has(dir, "*.go") {
		return nil
	}
	for i := range languages {
		if languages[i].is(dir) {
			return &languages[i]
		}
	}
	return nil
}

// Refused returns why no module can be built of the source in a directory, which is in no language that [Of] knows. It is nil for
// source in Go, and for none.
func Refused(dir string) error {
	switch {
	case has(dir, "*.go"):
		return nil
	case has(dir, pulumiManifest):
		return fmt.Errorf("%s is a package of Pulumi's SDK, as it has a file %s, and no module is built of one: list the directory under "+
			"packages in the project file, not under plugins.providers; in Node.js and Python it runs as a process without a sandbox", dir, pulumiManifest)
	case has(dir, "*.py"):
		return fmt.Errorf("the provider in %s is Python source without a %s: husk new provider --language python begins one that has it", dir, pyproject)
	}
	return nil
}

// NoProgram returns why the source in a directory cannot be a program: modules in its language are providers. It is nil for other source.
func NoProgram(dir string) error {
	const advice = "write it in Go, TypeScript, or Rust"
	l := Of(dir)
	switch {
	case has(dir, "*.go"), l != nil && l.programs:
		return nil
	case has(dir, "*.py"), l != nil && l.Name == "python":
		return errors.New("a module of Python source is a provider, and no program: " + advice +
			"; a program of Pulumi's SDK for Python needs no module, but the runtime python, and runs as a process without a sandbox")
	case l != nil:
		return fmt.Errorf("a module of %s source is a provider, and no program: %s", strings.ToUpper(l.Name), advice)
	}
	return nil
}

// Build builds the module.
func (l *Language) Build(ctx context.Context, s Source) (wasm []byte, err error) {
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return nil, err
	}
	if s.Root, err = filepath.Abs(s.Root); err != nil {
		return nil, err
	}
	return l.build(ctx, s)
}

// MissingError reports that the machine lacks what builds a language.
type MissingError struct{ Dir, Language, Tool, Install string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the module in %s is %s source, and there is no %s to build it with: %s, or name a .wasm file that "+
		"\"husk provider build\" made elsewhere", e.Dir, e.Language, e.Tool, e.Install)
}

func has(dir, pattern string) bool {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	return err == nil && len(found) > 0
}

// run runs a tool in a directory, and returns its output. The error has the tool's messages.
func run(ctx context.Context, dir string, command ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, named.Environment()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := processgroup.Run(ctx, cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return nil, fmt.Errorf("cannot build the module in %s:\n%s", dir, strings.TrimRight(said.String(), "\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", command[0], err)
	}
	return out.Bytes(), nil
}

// made returns the file that a tool has written.
func made(path string) ([]byte, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the built module: %w", err)
	}
	return wasm, nil
}
