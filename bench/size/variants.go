package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// module is a provider in one variant.
type module struct {
	name, file       string
	size, compressed int
	// callable is set for the one that is called.
	callable bool
}

// variants are the ways to build a provider. Names of functions are what -s drops; debug
// information is not in Go's modules.
var variants = []struct {
	name      string
	flags     []string
	optimizer []string // arguments of wasm-opt
}{
	{"go build", nil, nil},
	{"-trimpath, as husk provider build", []string{"-trimpath"}, nil},
	{"-trimpath -ldflags='-s -w'", []string{"-trimpath", "-ldflags=-s -w"}, nil},
	{"-trimpath, wasm-opt -O2", []string{"-trimpath"}, []string{"-O2", "-g"}},
	{"-trimpath -ldflags='-s -w', wasm-opt -Oz", []string{"-trimpath", "-ldflags=-s -w"}, []string{"-Oz"}},
}

// features are those that Go's compiler uses, which wasm-opt must be told of.
var features = []string{"--enable-bulk-memory", "--enable-sign-ext", "--enable-nontrapping-float-to-int", "--enable-mutable-globals"}

// build builds all variants of a small provider and of a large one, those of wasm-opt
// where it is installed.
func build(ctx context.Context, dir string) ([]module, error) {
	var modules []module
	optimizer, _ := exec.LookPath("wasm-opt")
	for n, provider := range []string{"bench/record", "examples/providers/openapi"} {
		for i, v := range variants {
			if v.optimizer != nil && optimizer == "" {
				continue
			}
			m := module{
				name: filepath.Base(provider) + ", " + v.name, callable: n == 0,
				file: filepath.Join(dir, fmt.Sprintf("%d-%d.wasm", n, i)),
			}
			command := exec.CommandContext(ctx, "go", append(append([]string{"build", "-buildmode=c-shared", "-buildvcs=false"}, v.flags...),
				"-o", m.file, "github.com/husk-dev/husk/"+provider)...)
			command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
			if err := run(command); err != nil {
				return nil, err
			}
			if v.optimizer != nil {
				arguments := append(append(append([]string{}, features...), v.optimizer...), m.file, "-o", m.file)
				if err := run(exec.CommandContext(ctx, optimizer, arguments...)); err != nil {
					return nil, err
				}
			}
			if err := m.weigh(); err != nil {
				return nil, err
			}
			modules = append(modules, m)
		}
	}
	return modules, nil
}

func run(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

func (m *module) weigh() error {
	wasm, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(wasm); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	m.size, m.compressed = len(wasm), compressed.Len()
	return nil
}
