package wasi_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// guest is testdata/guest, built for wasip1 and compiled once for all tests.
type guest struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

var buildGuest = sync.OnceValues(func() (*guest, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "husk-wasi-test")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "guest.wasm")
	build := exec.Command("go", "build", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: string(out), Err: err}
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	runtime := wazero.NewRuntime(ctx)
	if err := wasi.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	compiled, err := runtime.CompileModule(ctx, wasm)
	return &guest{runtime, compiled}, err
})

// run runs the guest with the commands and answers the lines that it printed and how it ended.
func run(t *testing.T, ctx context.Context, config wasi.Config, commands ...string) ([]string, error) {
	t.Helper()
	g, err := buildGuest()
	require.NoError(t, err)
	var out bytes.Buffer
	config.Args = append([]string{"guest"}, commands...)
	config.Stdout = func(p []byte) { out.Write(p) }
	if config.Stderr == nil {
		config.Stderr = func(p []byte) { t.Logf("guest: %s", p) }
	}
	if config.Files != nil {
		config.Env = append(config.Env, "PWD="+grant.WorkingDirectory)
	}
	system := wasi.New(config)
	defer system.Close()
	module, err := g.runtime.InstantiateModule(context.WithValue(ctx, wasi.SystemKey{}, system), g.compiled,
		wazero.NewModuleConfig().WithName(""))
	if module != nil {
		module.Close(ctx)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

// script runs pairs of a command and its expected answer in one guest.
func script(t *testing.T, config wasi.Config, pairs ...string) {
	t.Helper()
	var commands, expected []string
	for i := 0; i < len(pairs); i += 2 {
		commands = append(commands, pairs[i])
		expected = append(expected, pairs[i]+" -> "+pairs[i+1])
	}
	lines, err := run(t, t.Context(), config, commands...)
	var exit *wasi.ExitError
	require.ErrorAs(t, err, &exit)
	require.Zero(t, exit.Code)
	for i := range min(len(lines), len(commands)) {
		lines[i] = commands[i] + " -> " + lines[i]
	}
	require.Equal(t, expected, lines)
}

func mount(t *testing.T, mounts ...wasi.Mount) *wasi.FileSystem {
	t.Helper()
	files, err := wasi.OpenFileSystem(mounts)
	require.NoError(t, err)
	t.Cleanup(files.Close)
	return files
}
