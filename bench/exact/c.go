package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are in C. Each prints what it computes.
//
//go:embed c
var programs embed.FS

// levels are those of optimization, with features that bring instructions which are seldom used. The
// first one does where it is to be short. For each level, Zig compiles its library first.
var levels = [][]string{{"-O2"}, {"-O0"}, {"-Os", "-mbulk-memory", "-msign-ext", "-mnontrapping-fptoint"}, {"-O3", "-msimd128", "-mbulk-memory"}}

// c compares programs in C, compiled with some levels, if there is a compiler.
func (c *comparison) c(ctx context.Context, zig []string, levels [][]string) {
	if len(zig) == 0 {
		if zig = findZig(ctx); zig == nil {
			c.tell("programs in C", "left out: there is no compiler (install Zig, or PyPI's package ziglang)")
			return
		}
	}
	files, err := fs.Glob(programs, "c/*.c")
	if err != nil {
		c.failed("programs in C", err)
		return
	}
	for _, file := range files {
		for _, level := range levels {
			if ctx.Err() != nil {
				return
			}
			name := strings.TrimPrefix(file, "c/") + " " + level[0]
			if err := c.program(ctx, name, file, zig, level); err != nil {
				c.failed(name, err)
			}
		}
	}
}

func findZig(ctx context.Context) []string {
	for _, zig := range [][]string{{"zig"}, {"python3", "-m", "ziglang"}} {
		if exec.CommandContext(ctx, zig[0], append(zig[1:], "version")...).Run() == nil {
			return zig
		}
	}
	return nil
}

// program compares a program as it is, rewritten, and as the part of it that ran.
func (c *comparison) program(ctx context.Context, name, file string, zig, flags []string) (err error) {
	dir, remove, err := temporaryDir()
	if err != nil {
		return err
	}
	defer remove()
	source, err := programs.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := filepath.Join(dir, "program.c"), filepath.Join(dir, "program.wasm")
	if err := os.WriteFile(from, source, 0o600); err != nil {
		return err
	}
	var said bytes.Buffer
	args := append(append(append([]string{}, zig[1:]...), "cc", "--target=wasm32-wasi", "-fno-sanitize=undefined"), flags...)
	compile := exec.CommandContext(ctx, zig[0], append(args, "-o", to, from)...)
	compile.Stdout, compile.Stderr = &said, &said
	if err := compile.Run(); err != nil {
		return fmt.Errorf("compiling: %w\n%s", err, said.Bytes())
	}
	wasm, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	program := command{args: []string{"program"}}
	before, err := program.run(ctx, wasm)
	if err != nil {
		return err
	}
	if before.trapped != "" || before.output == "" {
		return errors.New("it does not work as it is: " + before.trapped)
	}
	rewritten, copied, err := rewritten(wasm)
	if err != nil {
		return err
	}
	listening := program
	listening.ran = map[uint32]bool{}
	after, err := listening.run(ctx, rewritten)
	if err != nil {
		return err
	}
	if before != after {
		c.differs(name, "%+v, and %+v when rewritten", before, after)
	}
	small, err := partOf(rewritten, maps.Clone(listening.ran))
	if err != nil {
		return err
	}
	if again, err := program.run(ctx, small); err != nil {
		return err
	} else if before != again {
		c.differs(name, "%+v, and %+v as a part", before, again)
	}
	c.tell(name, "%d bytes of output, %d functions rewritten, %d of %d bytes in the part", len(before.output), copied, len(small), len(rewritten))
	return nil
}
