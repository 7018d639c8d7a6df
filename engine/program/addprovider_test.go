package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

func TestAddProvider(t *testing.T) {
	const entry = `{name: random, source: acme/random, version: ^1}`
	for before, want := range map[string]string{
		"name: a\n":           "name: a\nplugins:\n  providers:\n    - " + entry + "\n",
		"name: a":             "name: a\nplugins:\n  providers:\n    - " + entry + "\n",
		"name: a\nplugins:\n": "name: a\nplugins:\n  providers:\n    - " + entry + "\n",
		"name: a\nplugins:\n   vendor: x\nresources:\n":                                                  "name: a\nplugins:\n   providers:\n     - " + entry + "\n   vendor: x\nresources:\n",
		"name: a\nplugins:\n  providers:\nresources:\n":                                                  "name: a\nplugins:\n  providers:\n    - " + entry + "\nresources:\n",
		"name: a\nplugins:\n  providers:\n  - name: tls\n    path: tls.wasm # here\n# end\nresources:\n": "name: a\nplugins:\n  providers:\n  - name: tls\n    path: tls.wasm # here\n  - " + entry + "\n# end\nresources:\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "Husk.yaml")
		require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
		p, err := LoadProject(projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		require.NoError(t, p.AddProvider("random", "acme/random", "^1"))
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(after))
	}
	for before, want := range map[string]string{
		"name: a\nplugins: {vendor: x}\n":                                  "its plugins are not written one below the other",
		"name: a\nplugins:\n  providers: []\n":                             "its providers are not written one below the other",
		"name: a\nplugins:\n  providers:\n    - {name: random, path: x}\n": `the provider "random" is listed twice`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "Husk.yaml")
		require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
		p, err := LoadProject(projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		err = p.AddProvider("random", "acme/random", "^1")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "write it under plugins.providers yourself:\n  - "+entry)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, string(after))
	}
}
