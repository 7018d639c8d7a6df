package langbuild

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

func hasC(dir string) bool { return has(dir, "*.c") }

// flagsC make a WASI reactor of small code. A stack of 1 MB holds the deepest values; that of Zig has 16 MB.
var flagsC = []string{"cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c23", "-Os", "-Wall", "-Wl,-z,stack-size=1048576", "-o"}

// buildC compiles the C files of a directory.
func buildC(ctx context.Context, s Source) ([]byte, error) {
	dir := s.Dir
	work, err := os.MkdirTemp("", "husk-c-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	compiler := zig(ctx, work)
	if compiler == "" {
		return nil, &MissingError{dir, "C", "zig command", "install Zig from https://ziglang.org/download, or with pip install ziglang"}
	}
	out := filepath.Join(work, "provider.wasm")
	command := append(append([]string{compiler}, flagsC...), out)
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	for _, name := range sources {
		command = append(command, filepath.Base(name))
	}
	if !has(dir, "husk.c") {
		if err := os.CopyFS(work, s.SDK); err != nil {
			return nil, err
		}
		command = append(command, "-I", work, filepath.Join(work, "husk.c"))
	}
	if _, err := run(ctx, dir, command...); err != nil {
		return nil, err
	}
	return made(out)
}

// findZig is a program in Python that prints the path of the command of Zig in its package.
const findZig = `import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))`

// zig returns the path of the command of Zig, which has a C compiler and a C library for WASI, empty if there is none. Python looks
// for packages where it runs, so it is asked in an empty directory: a file ziglang.py of the source must not run.
func zig(ctx context.Context, empty string) string {
	if path, err := exec.LookPath("zig"); err == nil {
		return path
	}
	for _, python := range []string{"python3", "python"} {
		path, err := exec.LookPath(python)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, "-c", findZig)
		cmd.Dir, cmd.Env = empty, named.Environment()
		if found, err := processgroup.Output(ctx, cmd); err == nil {
			return strings.TrimSpace(string(found))
		}
	}
	return ""
}
