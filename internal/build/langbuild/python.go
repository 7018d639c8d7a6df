package langbuild

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/husk-dev/husk/internal/build/jsbuild"
)

const pyproject = "pyproject.toml"

func hasPython(dir string) bool { return has(dir, pyproject) && !has(dir, pulumiManifest) }

// buildPython links the files that the SDK in the project's virtual environment names with the engine that it has.
func buildPython(ctx context.Context, s Source) ([]byte, error) {
	dir := s.Dir
	environment := jsbuild.Find(dir, s.Root, ".venv")
	if environment == "" {
		return nil, &MissingError{dir, "Python", "virtual environment .venv", "run python3 -m venv .venv there, and .venv/bin/pip install husk-provider and what pyproject.toml requires" + jsbuild.UpTo(s.Root)}
	}
	commands, packages := filepath.Join(environment, "bin"), filepath.Join(environment, "lib", "python3*", "site-packages")
	if runtime.GOOS == "windows" {
		commands, packages = filepath.Join(environment, "Scripts"), filepath.Join(environment, "Lib", "site-packages")
	}
	found, err := filepath.Glob(filepath.Join(packages, "husk_provider", "_files.py"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &MissingError{dir, "Python", "package husk-provider in its virtual environment", "run " + filepath.Join(commands, "pip") + " install ."}
	}
	// Without -S, Python would run the .pth files of the packages.
	text, err := run(ctx, dir, filepath.Join(commands, "python"), "-I", "-S", "-B", found[0], dir)
	if err != nil {
		return nil, err
	}
	var module struct {
		Main  string
		Files [][2]string
	}
	if err := json.Unmarshal(text, &module); err != nil {
		return nil, fmt.Errorf("cannot build the module in %s: %s: %w", dir, found[0], err)
	}
	engine, err := jsbuild.Engine(filepath.Dir(found[0]), "guest-sdk/python/engine/build.sh")
	if err != nil {
		return nil, fmt.Errorf("cannot build the module in %s: %w", dir, err)
	}
	files := []jsbuild.File{{Name: "main", Text: []byte(module.Main)}}
	for _, f := range module.Files {
		text, err := os.ReadFile(f[1])
		if err != nil {
			return nil, err
		}
		files = append(files, jsbuild.File{Name: f[0], Text: text})
	}
	wasm, err := jsbuild.Link(engine, jsbuild.Provider, files)
	if err != nil {
		return nil, fmt.Errorf("linking the module in %s with %s: %w", dir, filepath.Dir(found[0]), err)
	}
	return wasm, nil
}
