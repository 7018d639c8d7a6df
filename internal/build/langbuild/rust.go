package langbuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/base/confined"
)

func hasRust(dir string) bool { return has(dir, "Cargo.toml") }

// artifact is a file in what cargo says of a crate that it has built.
var artifact = regexp.MustCompile(`"(?:[^"\\]|\\.)+\.wasm"`)

// lacking are the parts of a toolchain that may be missing, by what cargo or rustup says then.
var lacking = []struct{ said, tool, install string }{
	{"target may not be installed", "target wasm32-wasip1", "run rustup target add wasm32-wasip1"},
	{"could not choose a version of cargo to run", "toolchain", "run rustup default stable and rustup target add wasm32-wasip1"},
	{"specification for target", "target wasm32-wasip1 in its version", "install Rust 1.82 or later, and its target: rustup target add wasm32-wasip1"},
}

// nothingAbove returns an error if a directory above root has one of the files, with which cargo would run other programs. What is in the home
// directory of cargo is the user's.
func nothingAbove(root string, names ...string) error {
	own := os.Getenv("CARGO_HOME")
	if home, err := os.UserHomeDir(); own == "" && err == nil {
		own = filepath.Join(home, ".cargo")
	}
	if real, err := filepath.EvalSymlinks(own); err == nil { // as root is
		own = real
	}
	for at := filepath.Dir(root); ; at = filepath.Dir(at) {
		for _, name := range names {
			path := filepath.Join(at, name)
			if _, err := os.Stat(path); err == nil && filepath.Dir(path) != own {
				return aboveError(path, root, at)
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func aboveError(path, root, in string) error {
	return fmt.Errorf("cargo would take %s, which is above %s, the directory of the project, or else the one that husk runs in: run husk provider build in %s", path, root, in)
}

// buildRust builds the crate in a directory, which names its SDK itself.
func buildRust(ctx context.Context, s Source) ([]byte, error) {
	dir := s.Dir
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return nil, &MissingError{dir, "Rust", "cargo command", "install Rust from https://rustup.rs, and its target: rustup target add wasm32-wasip1"}
	}
	root, err := filepath.EvalSymlinks(s.Root) // as cargo sees it
	if err == nil {
		err = nothingAbove(root, "rust-toolchain", "rust-toolchain.toml", filepath.Join(".cargo", "config"), filepath.Join(".cargo", "config.toml"))
	}
	if err != nil {
		return nil, err
	}
	workspace, err := run(ctx, dir, cargo, "locate-project", "--workspace", "--message-format", "plain")
	above := filepath.Dir(strings.TrimSpace(string(workspace)))
	if real, realErr := filepath.EvalSymlinks(above); realErr == nil {
		above = real
	}
	if err == nil && confined.IsBelow(above, root) {
		return nil, aboveError(filepath.Join(above, "Cargo.toml"), root, above+", or add an empty [workspace] to the Cargo.toml of the provider")
	}
	var out []byte
	if err == nil {
		out, err = run(ctx, dir, cargo, "build", "--release", "--target", "wasm32-wasip1", "--message-format", "json-render-diagnostics")
	}
	if err != nil {
		for _, m := range lacking {
			if strings.Contains(err.Error(), m.said) {
				return nil, &MissingError{dir, "Rust", m.tool, m.install}
			}
		}
		return nil, err
	}
	found := artifact.FindAllString(string(out), -1)
	if len(found) == 0 {
		return nil, fmt.Errorf("the crate in %s makes no module: it needs the lines [lib] and crate-type = [\"cdylib\"] in Cargo.toml", dir)
	}
	path, err := strconv.Unquote(found[len(found)-1])
	if err != nil {
		return nil, err
	}
	return made(path)
}
