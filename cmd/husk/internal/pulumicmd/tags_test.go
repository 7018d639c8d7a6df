package pulumicmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/backend"
)

// Tags are in a store that no provider of a project has.
func TestTagsAreNoProviders(t *testing.T) {
	require.NoError(t, backend.CheckProvider(tagsOf))
	text := "name: shop\nplugins: {providers: [{name: '" + tagsOf + "', path: x.wasm, grants: {kv: true}}]}\n"
	_, err := program.ParseProject(t.Context(), projectroot.New(t.TempDir(), projectroot.Trusted), "Husk.yaml", []byte(text))
	require.ErrorContains(t, err, "is not the name of a package")
}
