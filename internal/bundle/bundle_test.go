package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/bundle"
)

// project writes a project with providers, as YAML lists them, and loads it.
func project(t *testing.T, dir, providers string) *program.Project {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	text := "name: demo\nruntime: yaml\nplugins: {providers: [" + providers + "]}\nresources: {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o644))
	p, err := program.LoadProject(dir)
	require.NoError(t, err)
	return p
}

// A bundle has the project, the modules beside it, and what was built of source.
func TestABundleTravels(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(top, "beside.wasm"), []byte("beside"), 0o644))
	source := filepath.Join(top, "shop", "greet")
	require.NoError(t, os.MkdirAll(source, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(source, "main.go"), []byte("package main"), 0o644))
	p := project(t, filepath.Join(top, "shop"), "{name: beside, path: ../beside.wasm}, {name: greet, path: greet}")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "shop", ".husk"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, "shop", ".husk", "secret"), []byte("secret"), 0o644))
	build := func(dir string) ([]byte, error) {
		require.Equal(t, source, dir)
		return []byte("built"), nil
	}
	var content, again bytes.Buffer
	info, err := bundle.Pack(&content, p, build)
	require.NoError(t, err)
	require.Equal(t, "shop", info.Project)
	same, err := bundle.Pack(&again, p, build)
	require.NoError(t, err)
	require.Equal(t, info.Digest, same.Digest)

	to := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.MkdirAll(to, 0o755))
	require.NoError(t, bundle.Unpack(bytes.NewReader(content.Bytes()), info.Digest, to))
	for name, want := range map[string]string{"beside.wasm": "beside", "shop/greet": "built"} {
		got, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoFileExists(t, filepath.Join(to, "shop", ".husk", "secret"))

	changed := bytes.Clone(content.Bytes())
	changed[len(changed)/2] ^= 1
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.MkdirAll(other, 0o755))
	require.Error(t, bundle.Unpack(bytes.NewReader(changed), info.Digest, other))
}

// A path of this machine means nothing elsewhere.
func TestPathsOfThisMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.wasm")
	require.NoError(t, os.WriteFile(file, []byte("lab"), 0o644))
	p := project(t, t.TempDir(), "{name: lab, path: '"+file+"'}")
	_, err := bundle.Pack(&bytes.Buffer{}, p, nil)
	require.ErrorContains(t, err, "Husk.yaml lists the module "+file+" by its path on this machine")
}
