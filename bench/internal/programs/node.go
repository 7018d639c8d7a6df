package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Packages gives a directory the packages of npm that its package.json lists: those of the directory modules, or, if that is
// empty, fetched ones.
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
