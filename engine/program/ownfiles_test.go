package program

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	p, err := ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte(`
name: shop
plugins:
  providers:
    - {name: one, path: providers/one.wasm}
    - {name: two, path: src/two}
    - {name: far, path: ../far}
    - {name: fetched, source: "oci://registry.example.com/acme/fetched"}
  vendor: modules
policies: [checks/pack.wasm]
stackConfigDir: stacks
`))
	require.NoError(t, err)
	own := map[string]bool{}
	for _, path := range p.OwnFiles() {
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		own[filepath.ToSlash(name)] = true
	}
	for _, name := range []string{
		"Husk.yaml", "Husk.yml", "Pulumi.yaml", "Pulumi.yml", "Main.yaml", "stacks/Husk.*.yaml", "stacks/Pulumi.*.yml",
		"providers/one.wasm", "husk.lock", "sdks/*.yaml", "modules", "src/two", "src/go.mod", "go.mod", "go.work", "../far", "checks/pack.wasm",
	} {
		require.True(t, own[name], name)
		delete(own, name)
	}
	for _, name := range []string{"providers/go.mod", "src/two/go.mod", "../go.mod", "."} {
		require.False(t, own[name], name)
	}
}
