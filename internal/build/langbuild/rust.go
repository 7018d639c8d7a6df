package langbuild

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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

// buildRust builds the crate in a directory, which names its SDK itself.
func buildRust(ctx context.Context, dir string, _ fs.FS) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return nil, &MissingError{dir, "Rust", "cargo command", "install Rust from https://rustup.rs, and its target: rustup target add wasm32-wasip1"}
	}
	out, err := run(ctx, dir, cargo, "build", "--release", "--target", "wasm32-wasip1", "--message-format", "json-render-diagnostics")
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
