package netoverlay_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/build/netoverlay"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/packedtest"
)

// The program has the sources as they are.
func TestTheSourcesAreCurrent(t *testing.T) {
	packedtest.RequireCurrent(t, "source.zip.gz", "source", ".")
}

// compile compiles package net/http with the network's files.
func compile(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles package net/http")
	}
	source, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, "go.mod"), []byte("module example.com/program\n\ngo 1.24\n"), 0o644))
	network, err := netoverlay.New(t.Context(), "go", source, dir)
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": network.Files})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o644))
	cmd := exec.CommandContext(t.Context(), network.Command, "build", "-trimpath", "-overlay", list, "net/http") // as guests are built
	cmd.Dir, cmd.Env = source, slices.Concat(os.Environ(), []string{"GOOS=wasip1", "GOARCH=wasm"}, network.Env)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Empty(t, output)
}

// TestReleases compiles the network with this release of Go, and the one before if it can be had.
func TestReleases(t *testing.T) {
	for _, release := range []string{runtime.Version(), "go1.25.0"} {
		t.Run(release, func(t *testing.T) {
			t.Setenv("GOTOOLCHAIN", release)
			if release != runtime.Version() {
				nightly.Skip(t)
				if output, err := exec.CommandContext(t.Context(), "go", "version").CombinedOutput(); err != nil {
					t.Skipf("%s cannot be had: %s", release, output)
				}
			}
			compile(t)
		})
	}
}

// A Go that is not known is refused, by its number, or because its library is another one.
func TestUnknownReleases(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	output, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	library := filepath.Join(strings.TrimSpace(string(output)), "src", "net")
	changed := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(changed, "src", "net"), os.DirFS(library)))
	path := filepath.Join(changed, "src", "net", "ipsock.go")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "lookupIPAddr", "lookupAddresses")), 0o644))

	for name, c := range map[string]struct{ root, version, want string }{
		"newer":         {changed, "go1.99.1", "it is known for Go 1.25 to 1.26; set GOTOOLCHAIN="},
		"of the future": {changed, "go2.0", "it is known for Go 1.25 to 1.26; set GOTOOLCHAIN="},
		"older":         {changed, "go1.24.7", "it is known for Go 1.25 to 1.26; set GOTOOLCHAIN="},
		"changed":       {changed, "go1.26.8", `its net/ipsock.go does not have "r.lookupIPAddr(ctx, net, host)" exactly once; set GOTOOLCHAIN=`},
		"incomplete":    {t.TempDir(), "go1.26.8", "no such file or directory; set GOTOOLCHAIN="},
	} {
		t.Run(name, func(t *testing.T) {
			command := filepath.Join(t.TempDir(), "go")
			require.NoError(t, os.WriteFile(command, []byte("#!/bin/sh\necho '"+c.root+"'\necho "+c.version+"\necho /nowhere\n"), 0o755))
			_, err := netoverlay.New(t.Context(), command, t.TempDir(), t.TempDir())
			var unknown *netoverlay.UnsupportedGoError
			require.ErrorAs(t, err, &unknown)
			require.Equal(t, c.version, unknown.Version)
			require.ErrorContains(t, err, "the network of modules cannot be built with "+c.version+" in "+c.root+": ")
			require.ErrorContains(t, err, c.want)
		})
	}
}
