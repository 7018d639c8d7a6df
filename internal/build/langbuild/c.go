package langbuild

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

func hasC(dir string) bool { return has(dir, "*.c") }

// flagsC make a WASI reactor of small code. A stack of 1 MB holds the deepest values; that of Zig has 16 MB.
var flagsC = []string{"cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c23", "-Os", "-Wall", "-Wl,-z,stack-size=1048576", "-o"}

// buildC compiles the C files of a directory.
func buildC(ctx context.Context, dir string, sdk fs.FS) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	compiler := zig(ctx)
	if compiler == nil {
		return nil, &MissingError{dir, "C", "zig command", "install Zig from https://ziglang.org/download, or with pip install ziglang"}
	}
	work, err := os.MkdirTemp("", "husk-c-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, "provider.wasm")
	command := append(append(compiler, flagsC...), out)
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	for _, name := range sources {
		command = append(command, filepath.Base(name))
	}
	if !has(dir, "husk.c") {
		if err := os.CopyFS(work, sdk); err != nil {
			return nil, err
		}
		command = append(command, "-I", work, filepath.Join(work, "husk.c"))
	}
	if _, err := run(ctx, dir, command...); err != nil {
		return nil, err
	}
	return made(out)
}

// zig returns the command of Zig, which has a C compiler and a C library for WASI, nil if there is none.
func zig(ctx context.Context) []string {
	if path, err := exec.LookPath("zig"); err == nil {
		return []string{path}
	}
	for _, python := range []string{"python3", "python"} {
		path, err := exec.LookPath(python)
		if err == nil && exec.CommandContext(ctx, path, "-c", "import ziglang").Run() == nil {
			return []string{path, "-m", "ziglang"}
		}
	}
	return nil
}
