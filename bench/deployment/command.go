package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// command is the program husk, and the module of a provider.
type command struct {
	dir, path, module string
}

func build(ctx context.Context, dir string) (*command, error) {
	c := &command{dir: dir, path: filepath.Join(dir, "husk"), module: filepath.Join(dir, "random.wasm")}
	for _, args := range [][]string{
		{"go", "build", "-C", "..", "-o", dir + string(filepath.Separator), "./cmd/husk", "./cmd/husk/husk-full"},
		{c.path, "provider", "build", "../examples/providers/random", "-o", c.module},
	} {
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	return c, nil
}

// cacheDir is where husk keeps compiled modules.
func (c *command) cacheDir() string { return filepath.Join(c.dir, "cache") }

// run runs husk in a project, as a user who has nothing but a cache.
func (c *command) run(ctx context.Context, project string, args ...string) (wall, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + c.dir, "APPDATA=" + c.dir, "HUSK_CACHE_DIR=" + c.cacheDir(), "PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("husk %v: %w\n%s", args, err, out.Bytes())
	}
	wall = time.Since(start)
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// times are the elapsed times and the processor times of the rounds of one operation.
type times struct{ wall, cpu []time.Duration }

// deploy runs all operations on a stack, so many times.
func (c *command) deploy(ctx context.Context, s shape, size, rounds int) ([]times, error) {
	project := filepath.Join(c.dir, fmt.Sprintf("%s-%d", s, size))
	if err := s.write(project, c.module, size); err != nil {
		return nil, err
	}
	// The first command compiles the module where none has before.
	if _, _, err := c.run(ctx, project, "preview"); err != nil {
		return nil, err
	}
	taken := make([]times, len(operations))
	for range rounds {
		for i, op := range operations {
			wall, cpu, err := c.run(ctx, project, op.args...)
			if err != nil {
				return nil, err
			}
			taken[i].wall = append(taken[i].wall, wall)
			taken[i].cpu = append(taken[i].cpu, cpu)
		}
	}
	return taken, nil
}
