package langbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/husk-dev/husk/internal/build/jsbuild"
)

const pyproject = "pyproject.toml"

func hasPython(dir string) bool { return has(dir, pyproject) && !has(dir, pulumiManifest) }

// buildPython links the files that the SDK in the project's virtual environment names with the engine that it has.
func buildPython(ctx context.Context, dir string, _ fs.FS) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	command := filepath.Join(".venv", "bin", "python")
	if runtime.GOOS == "windows" {
		command = filepath.Join(".venv", "Scripts", "python.exe")
	}
	python := jsbuild.Find(dir, command)
	if python == "" {
		return nil, &MissingError{dir, "Python", "virtual environment .venv", "run python3 -m venv .venv there, and .venv/bin/pip install husk-provider and what pyproject.toml requires"}
	}
	text, err := run(ctx, dir, python, "-I", "-B", "-m", "husk_provider._files", dir)
	if err != nil && strings.Contains(err.Error(), "No module named 'husk_provider'") {
		return nil, &MissingError{dir, "Python", "package husk-provider in its virtual environment", "run " + filepath.Join(filepath.Dir(python), "pip") + " install ."}
	}
	if err != nil {
		return nil, err
	}
	var module struct {
		Engine, Main string
		Files        [][2]string
	}
	if err := json.Unmarshal(text, &module); err != nil {
		return nil, fmt.Errorf("cannot build the provider in %s: husk_provider._files of %s: %w", dir, python, err)
	}
	engine, err := os.ReadFile(module.Engine)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot build the provider in %s: there is no %s: the package was built from a checkout, where guest-sdk/python/engine/build.sh makes it", dir, module.Engine)
	}
	if err != nil {
		return nil, err
	}
	files := []jsbuild.File{{Name: "main", Text: []byte(module.Main)}}
	for _, f := range module.Files {
		text, err := os.ReadFile(f[1])
		if err != nil {
			return nil, err
		}
		files = append(files, jsbuild.File{Name: f[0], Text: text})
	}
	wasm, err := jsbuild.Link(engine, files)
	if err != nil {
		return nil, fmt.Errorf("linking the provider in %s with %s: %w", dir, module.Engine, err)
	}
	return wasm, nil
}
