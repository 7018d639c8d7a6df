package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/husk-dev/husk/bench/internal/programs"
)

// hosted starts processes that host the module, which one of them has compiled before.
type hosted struct{ command, module, cache string }

func newHosted(ctx context.Context, dir string) (*hosted, error) {
	h := &hosted{module: filepath.Join(dir, "record.wasm"), cache: filepath.Join(dir, "cache")}
	var err error
	if h.command, err = programs.Command(ctx, "./hosted"); err != nil {
		return nil, err
	}
	wasm, err := programs.Module(ctx, "./record")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(h.module, wasm, 0o600); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, h.command, "start", h.module, h.cache).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("compiling: %w\n%s", err, out)
	}
	return h, nil
}

// grow returns the memory of one process as it comes to have so many configurations. Each
// is called once after it was made, if called is set.
func (h *hosted) grow(ctx context.Context, sizes []int, called bool) (_ []memory, err error) {
	command := exec.CommandContext(ctx, h.command, "keep", h.module, h.cache)
	var said bytes.Buffer
	command.Stderr = &said
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close() // which ends it
		if failed := command.Wait(); failed != nil || err != nil {
			err = fmt.Errorf("%w\n%s", errors.Join(err, failed), said.Bytes())
		}
	}()
	answers := bufio.NewReader(out)
	var all []memory
	for _, size := range sizes {
		if _, err := fmt.Fprintf(in, "%d %t\n", size, called); err != nil {
			return nil, err
		}
		if _, err := answers.ReadString('\n'); err != nil {
			return nil, err
		}
		m, err := memoryOf(command.Process.Pid)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
