package gobuild

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// CopyModule copies the Go module that a directory belongs to, and returns the place of the directory in the copy. A module that
// refers to files beside it cannot be copied: the place is empty then, without an error.
func CopyModule(ctx context.Context, dir, to string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	env, err := goOutput(ctx, dir, "env", "-json", "GOMOD", "GOWORK")
	if err != nil {
		return "", err
	}
	var in struct{ GOMOD, GOWORK string }
	if err := json.Unmarshal(env, &in); err != nil {
		return "", err
	}
	if in.GOMOD == "" || in.GOMOD == os.DevNull || in.GOWORK != "" && in.GOWORK != "off" {
		return "", nil
	}
	edited, err := goOutput(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return "", err
	}
	var mod struct {
		Replace []struct{ New struct{ Path string } }
	}
	if err := json.Unmarshal(edited, &mod); err != nil {
		return "", err
	}
	for _, r := range mod.Replace {
		if strings.HasPrefix(r.New.Path, ".") {
			return "", nil
		}
	}
	root := filepath.Dir(in.GOMOD)
	within, err := filepath.Rel(root, dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(to, within), filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case !e.Type().IsRegular():
			return nil // the go command does not read it either
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, named.Environment()
	out, err := processgroup.Output(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), dir, err)
	}
	return out, nil
}
