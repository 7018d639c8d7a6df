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
	if err != nil && strings.Contains(err.Error(), "target may not be installed") {
		return nil, &MissingError{dir, "Rust", "target wasm32-wasip1", "run rustup target add wasm32-wasip1"}
	}
	if err != nil {
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
