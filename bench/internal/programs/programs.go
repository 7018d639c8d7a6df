// Package programs builds what the benchmarks run: commands of the module of benchmarks, and modules of
// providers. It keeps them in the user's directory for caches.
package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/internal/build/gobuild"
)

// kept is where the results of builds are.
func kept() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "husk", "bench"), err
}

// Command builds the command in a directory, such as ./peer, and returns its path.
func Command(ctx context.Context, dir string) (string, error) {
	place, err := kept()
	if err != nil {
		return "", err
	}
	file := filepath.Join(place, path.Base(dir)+".exe")
	var out bytes.Buffer
	args := []string{"build", "-o", file, "."}
	if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod")); err == nil {
		// It is a module of its own, whose requirements follow this one's.
		args = slices.Insert(args, 1, "-mod=mod")
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = filepath.FromSlash(dir)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as providers are released
	build.Stdout, build.Stderr = &out, &out
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", dir, err, out.Bytes())
	}
	return file, nil
}

// Module builds the provider in a directory, and returns its module.
func Module(ctx context.Context, dir string) ([]byte, error) {
	place, err := kept()
	if err != nil {
		return nil, err
	}
	return (&gobuild.Builder{Dir: place}).Build(ctx, dir)
}
