package examples_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/examples/internal/petstore"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const petstoreDocument = "providers/openapi/provider/testdata/petstore.yaml"

// tour returns a copy of the tour with two stores of its own.
func tour(t *testing.T) (p *project, delft, gouda *petstore.Store) {
	t.Helper()
	p = buildHusk(t).project(t)
	delft, gouda = petstore.New(t, petstoreDocument), petstore.New(t, petstoreDocument)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("tour", name))
		require.NoError(t, err)
		return string(text)
	}
	replacements := []string{"http://127.0.0.1:8101", delft.URL, "http://127.0.0.1:8102", gouda.URL}
	for _, name := range []string{"random", "tls", "local", "site", "openapi"} {
		// Built here, it is not built again by each command.
		p.Write(name+".wasm", string(testmodule.Build(t, filepath.Join("providers", name))))
		replacements = append(replacements, "../providers/"+name, name+".wasm")
	}
	p.Write("Husk.yaml", strings.NewReplacer(replacements...).Replace(read("Husk.yaml")))
	// The provider that lives with the program is a Go module of its own there.
	p.Write("greeter/main.go", read("greeter/main.go"))
	p.Write("greeter/go.sum", read("../../go.sum"))
	p.Write("greeter/go.mod", strings.Replace(read("../../go.mod"), "module github.com/husk-dev/husk\n",
		"module example.org/greeter\n\nrequire github.com/husk-dev/husk v0.0.0\n\nreplace github.com/husk-dev/husk => "+strconv.Quote(filepath.ToSlash(root))+"\n", 1))
	return p, delft, gouda
}

// The tour's life: previewed, deployed, deployed again without a change, read again
// after somebody else's change, half failed and repaired, moved to other code, and
// destroyed with nothing but its state.
func TestTour(t *testing.T) {
	t.Parallel()
	p, delft, gouda := tour(t)
	const resources = 17
	const empty = "map[] map[] map[] map[]"

	planned := p.Deploy("preview")
	require.Equal(t, changes{Create: resources}, planned.Changes)
	require.Equal(t, empty, delft.Contents(), "a preview creates nothing")
	require.NoDirExists(t, p.Path("out"))

	got := p.Deploy("up", "--yes")
	require.Equal(t, changes{Create: resources}, got.Changes)
	require.ElementsMatch(t, planned.Steps, got.Steps)
	require.Contains(t, p.Read("out/index.html"), "<h1>Welcome to the shop of Ann</h1>")
	callers := delft.Callers()
	require.Len(t, callers, 3, "one for each configuration")
	require.Equal(t, "Bearer t0ken", callers[0])
	require.Regexp(t, `^Bearer t0ken [a-z]+-[a-z]+$`, callers[1], "configured with the clerk's name")
	require.Equal(t, "k3y", callers[2])
	require.Equal(t, []string{"k3y"}, gouda.Callers())

	got = p.Deploy("up", "--yes")
	require.Equal(t, changes{Same: resources}, got.Changes)
	require.Empty(t, got.Steps)

	delft.Change(delft.Pets, onlyID(t, delft.Pets), "name", "Max")
	require.Equal(t, []string{"update rex"}, p.Deploy("refresh", "--yes").Steps)
	require.Equal(t, []string{"update rex"}, p.Deploy("up", "--yes").Steps, "what the program says holds again")

	// The store takes the pet in and then cannot be read: the pet is recorded, and the
	// next deployment finds it instead of creating another.
	p.Edit("Husk.yaml", "  # A component:", "  moritz:\n    type: gouda:Pet\n    properties: {name: Moritz, kind: cat}\n\n  # A component:")
	gouda.Fail("GET /pets/102", petstore.Fault{Status: 500, Body: `{"message": "on fire"}`})
	got = p.TryDeploy("up", "--yes")
	require.Equal(t, "failed", got.Result)
	require.Contains(t, got.Output, "on fire")
	require.Len(t, gouda.Pets, 2)
	require.Equal(t, []string{"update moritz"}, p.Deploy("up", "--yes").Steps)
	require.Empty(t, p.Deploy("up", "--yes").Steps, "it is repaired")
	require.Len(t, gouda.Pets, 2)

	// Other code of the provider that lives with the program is another module, which
	// the state names from then on, and the diff says so. What it made stays until
	// something changes.
	before := moduleOf(t, p, "greeter")
	p.Edit("greeter/main.go", "Welcome to", "Come to")
	got = p.Deploy("preview")
	require.Equal(t, []string{"update pulumi:providers:greeter"}, got.Providers)
	require.Contains(t, got.Output, "__internal.digest")
	got = p.Deploy("up", "--yes")
	require.Equal(t, []string{"update pulumi:providers:greeter"}, got.Providers)
	require.Empty(t, got.Steps)
	require.NotEqual(t, before, moduleOf(t, p, "greeter"))
	p.Edit("Husk.yaml", "{name: Ann,", "{name: Anna,")
	require.Equal(t, []string{"update ann", "update sign", "update shop", "update shop-index.html"}, p.Deploy("up", "--yes").Steps)
	require.Contains(t, p.Read("out/index.html"), "<h1>Come to the shop of Anna</h1>")

	// On another machine, without the program and its providers. Nobody has listed the
	// state's modules there.
	moved := p.Moved("out")
	destroy := []string{"destroy", "--yes", "--grant", "local:fs=out:rw", "--grant", "openapi:http=" + delft.URL, "--grant", "openapi:http=" + gouda.URL}
	got = moved.TryDeploy(destroy...)
	require.Equal(t, "failed", got.Result)
	require.Contains(t, got.Output, "--trust-module")
	for _, digest := range modulesOf(t, p) {
		destroy = append(destroy, "--trust-module", digest)
	}
	got = moved.Deploy(destroy...)
	require.Equal(t, changes{Delete: resources + 1}, got.Changes)
	require.Equal(t, empty, delft.Contents())
	require.Equal(t, empty, gouda.Contents())
	require.NoDirExists(t, moved.Path("out"))
}

func onlyID(t *testing.T, members map[string]petstore.Object) string {
	t.Helper()
	require.Len(t, members, 1)
	for id := range members {
		return id
	}
	return ""
}

// moduleOf returns the digest of the module that the state names for a package.
func moduleOf(t *testing.T, p *project, name string) string {
	t.Helper()
	digest := modulesOf(t, p)[name]
	require.NotEmpty(t, digest, "the state has no provider %s", name)
	return digest
}

// modulesOf returns the digests of the modules that the state names, by package.
func modulesOf(t *testing.T, p *project) map[string]string {
	t.Helper()
	var export struct {
		Deployment struct {
			Resources []struct {
				Type    string
				Outputs struct {
					Internal struct{ Digest string } `json:"__internal"`
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.Run("stack", "export")), &export))
	modules := map[string]string{}
	for _, r := range export.Deployment.Resources {
		if name, ok := strings.CutPrefix(r.Type, "pulumi:providers:"); ok {
			modules[name] = r.Outputs.Internal.Digest
		}
	}
	return modules
}
