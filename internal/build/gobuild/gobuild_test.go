package gobuild_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/gobuild"
)

// sources writes files and returns their directory.
func sources(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

const (
	goMod  = "module example.com/provider\n\ngo 1.24\n"
	mainGo = "package main\n\n//go:wasmexport answer\nfunc answer() int32 { return n }\n\nfunc main() {}\n"
)

func TestBuildFollowsEveryInput(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module many times")
	}
	b := &gobuild.Builder{Dir: t.TempDir()}
	dir := sources(t, map[string]string{
		"go.mod": goMod, "main.go": mainGo, "n.go": "package main\n\nimport \"example.com/provider/deep\"\n\nvar n = deep.N()\n",
		"deep/deep.go": "package deep\n\nimport _ \"embed\"\n\n//go:embed n.txt\nvar text string\n\nfunc N() int32 { return int32(len(text)) }\n",
		"deep/n.txt":   "one",
	})
	build := func() []byte {
		module, err := b.Build(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, "\x00asm\x01\x00\x00\x00", string(module[:8]), "a core module")
		return module
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	first := build()
	require.Equal(t, first, build(), "nothing changed")

	write("deep/n.txt", "twelve")
	second := build()
	require.NotEqual(t, first, second, "an embedded file of another package changed")

	write("more.go", "package main\n\nfunc init() { n++ }\n")
	require.NotEqual(t, second, build(), "a file was added")

	require.NoError(t, os.Remove(filepath.Join(dir, "more.go")))
	require.Equal(t, second, build(), "the same source gives the same module")

	moved := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(dir, moved))
	dir = moved
	require.Equal(t, second, build(), "the directory is no part of the module")
}

func TestConcurrentBuildsOfOneDirectory(t *testing.T) {
	cache := t.TempDir()
	dir := sources(t, map[string]string{"go.mod": goMod, "main.go": mainGo, "n.go": "package main\n\nvar n int32\n"})
	var wg sync.WaitGroup
	modules := make([][]byte, 4)
	for i := range modules {
		wg.Go(func() {
			// As other processes would, each has a builder of its own.
			module, err := (&gobuild.Builder{Dir: cache}).Build(t.Context(), dir)
			if err == nil {
				modules[i] = module
			}
		})
	}
	wg.Wait()
	for _, m := range modules {
		require.NotEmpty(t, m)
		require.Equal(t, modules[0], m)
	}
}

func TestBuildErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"compile error": {
			map[string]string{"go.mod": goMod, "main.go": mainGo},
			[]string{"cannot build the module in", "./main.go:4:30: undefined: n"},
		},
		"no main package": {
			map[string]string{"go.mod": goMod, "lib.go": "package lib\n"},
			[]string{"a provider is a main package"},
		},
		"no module": {
			map[string]string{"main.go": mainGo},
			[]string{"run \"go mod init\" there"},
		},
		"no source": {
			map[string]string{"go.mod": goMod},
			[]string{"no Go files"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFLAGS", "-mod=mod")
			_, err := (&gobuild.Builder{Dir: t.TempDir()}).Build(t.Context(), sources(t, c.files))
			require.ErrorContains(t, err, "cannot build the module in")
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
	t.Run("no toolchain", func(t *testing.T) {
		t.Setenv("PATH", "")
		_, err := (&gobuild.Builder{Dir: t.TempDir()}).Build(t.Context(), t.TempDir())
		require.ErrorContains(t, err, "there is no go command to build it with")
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&gobuild.Builder{Dir: t.TempDir()}).Build(ctx, sources(t, map[string]string{"go.mod": goMod, "main.go": mainGo}))
		require.ErrorIs(t, err, ctx.Err())
	})
}

// A Go whose library is not known builds what needs no network, and nothing else.
func TestAGoThatIsNotKnown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	real, err := exec.LookPath("go")
	require.NoError(t, err)
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1\" = env ]; then echo /nowhere; echo go1.99; echo /nowhere/else; else exec '" + real + "' \"$@\"; fi\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	b := &gobuild.Builder{Dir: t.TempDir()}
	_, err = b.Build(t.Context(), sources(t, map[string]string{"go.mod": goMod, "main.go": mainGo, "n.go": "package main\n\nvar n int32\n"}))
	require.NoError(t, err)
	source := sources(t, map[string]string{"go.mod": goMod, "main.go": mainGo, "n.go": "package main\n\nimport \"net\"\n\nvar n = int32(len(net.FlagUp.String()))\n"})
	_, err = b.Build(t.Context(), source)
	require.ErrorContains(t, err, "cannot build the module in ")
	require.ErrorContains(t, err, "the network of modules cannot be built with go1.99 in /nowhere: it is known for Go 1.25 to 1.26; set GOTOOLCHAIN=")
}

// Builds wait for each other: two at once would both compile what the cache lacks.
func TestOneBuildAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1\" = env ]; then echo /nowhere; echo go1.99; echo /nowhere/else; exit; fi\ncd '" + dir + "'\n" +
		"[ $1 = build ] || exit 0\nmkdir running || exit 1\ni=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\nrmdir running\n" +
		"while [ $1 != -o ]; do shift; done; echo built > $2\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	b := &gobuild.Builder{Dir: t.TempDir()}
	var wg sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		source := t.TempDir()
		wg.Go(func() { _, failed[i] = b.Build(t.Context(), source) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(failed...))
}
