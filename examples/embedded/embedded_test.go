package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// The program that a user of the example gets runs without anything else: no variables,
// no home, no place for temporary files, and a directory that it must not write to. Where
// the kernel can do that, it may not write, make, or execute any file at all.
func TestTheProgramNeedsNothingButItself(t *testing.T) {
	testmodule.Skip(t)
	dir, module := t.TempDir(), testmodule.File(t, "../providers/random")
	embed, err := filepath.Abs("modules/random.wasm")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{embed: module}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(dir, "embedded.exe")
	build(t, "-overlay", filepath.Join(dir, "overlay.json"), "-o", program)

	ahead := filepath.Join(dir, "ahead")
	modes := map[string][]string{"compiles": nil}
	if host.CompilerSupported() {
		precompile(t, module, ahead)
		modes["takes precompiled code"] = []string{"-precompiled", ahead}
	}
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			here := t.TempDir()
			require.NoError(t, os.Chmod(here, 0o500))
			cmd := confined(program, append(flags, "-device", "lamp")...)
			cmd.Dir = here
			cmd.Env = append(cmd.Env, "HOME=/nonexistent", "TMPDIR=/nonexistent", "TMP=/nonexistent")
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.Output()
			require.NoError(t, err, said.String())
			require.Regexp(t, `^"lamp-[a-z]+-[a-z]+"\n$`, string(out))
			left, err := os.ReadDir(here)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestAModuleThatWasNotEmbedded(t *testing.T) {
	testmodule.Skip(t)
	program := filepath.Join(t.TempDir(), "embedded.exe")
	build(t, "-o", program)
	out, err := exec.Command(program).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no module for the package \"random\" was embedded: build it with `husk provider build")
}

func build(t *testing.T, flags ...string) {
	t.Helper()
	testmodule.DependOn(t, ".")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// precompile does what `husk provider compile` does.
func precompile(t *testing.T, module, dir string) {
	t.Helper()
	m, err := testmodule.Host(t, host.NewConfig()).Load(t.Context(), module)
	require.NoError(t, err)
	require.NoError(t, m.Precompile(dir))
}
