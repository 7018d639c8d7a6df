package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Packages makes node_modules in dir, for the dependencies in its package.json: a symbolic link to modules, or, if modules is empty, the
// result of npm install.
func Packages(ctx context.Context, dir, modules string) error {
	if modules != "" {
		modules, err := filepath.Abs(modules)
		if err != nil {
			return err
		}
		return os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = dir
	if text, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w: %s", err, text)
	}
	return nil
}
