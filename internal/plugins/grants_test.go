package plugins_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// fetchIn opens a project with the provider fetch, and returns what sends requests with it.
func fetchIn(t *testing.T, dir, grants string, learn bool) (*plugins.Plugins, func(method, url string) error) {
	t.Helper()
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	text := "name: demo\nplugins: {providers: [{name: fetch, path: fetch.wasm, grants: " + grants + "}]}\n"
	project, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte(text))
	require.NoError(t, err)
	p, err := plugins.Open(t.Context(), project, plugins.Options{Places: plugins.Places{Cache: cache}, Learn: learn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	provider, err := p.Load(t.Context(), engine.PackageSpec{Name: "fetch"})
	require.NoError(t, err)
	return p, func(method, url string) error {
		_, err := provider.Invoke(t.Context(), abi.InvokeRequest{Token: "fetch:index:fetch", Args: property.NewMap(
			property.Entry{Key: "url", Value: property.String(url)}, property.Entry{Key: "method", Value: property.String(method)})})
		return err
	}
}

// A project cannot grant a variable that is for husk alone, nor have it sent as a header, nor map it.
func TestVariablesOfHuskAreNotGranted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fetch.wasm"), testmodule.Build(t, "../../guest-sdk/http/internal/fetch/module"), 0o644))
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	t.Setenv("HUSK_ACCESS_TOKEN", "secret")
	for grants, mappings := range map[string]engine.EnvVarMappings{
		"{env: [HUSK_ACCESS_TOKEN]}": "", "{http: [{url: 'https://x.example', headers: {X-Key: {env: HUSK_ACCESS_TOKEN}}}]}": "",
		"{env: [MINE, HUSK_ACCESS_TOKEN]}": "HUSK_ACCESS_TOKEN=MINE",
	} {
		text := "name: demo\nplugins: {providers: [{name: fetch, path: fetch.wasm, grants: " + grants + "}]}\n"
		project, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte(text))
		require.NoError(t, err)
		p, err := plugins.Open(t.Context(), project, plugins.Options{Places: plugins.Places{Cache: cache}})
		require.NoError(t, err)
		_, err = p.Load(t.Context(), engine.PackageSpec{Name: "fetch", EnvVarMappings: mappings})
		require.ErrorContains(t, err, "the environment variable HUSK_ACCESS_TOKEN is for husk alone")
		require.NoError(t, p.Close(context.Background()))
	}
}

// What was learned of a run is enough for the next one, and for little else.
func TestLearnedGrants(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fetch.wasm"), testmodule.Build(t, "../../guest-sdk/http/internal/fetch/module"), 0o644))
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Key"))
	}))
	t.Cleanup(server.Close)
	t.Setenv("API_KEY", "k1")
	file := filepath.Join(dir, "learned.yaml")

	// A header of one grant is not learned for others.
	declared := fmt.Sprintf(`{http: [%s, {url: "%[1]s/v1/pets", headers: {X-Key: {env: API_KEY}}}]}`, server.URL)
	p, send := fetchIn(t, dir, declared, true)
	for _, request := range []string{"POST /v1/pets", "GET /v1/pets/cat?secret=1", "GET /v1/users/7", "GET /v2/health"} {
		method, path, _ := strings.Cut(request, " ")
		require.NoError(t, send(method, server.URL+path))
	}
	require.NoError(t, p.WriteLearned(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(`# The grants that the providers used. Copy them to the providers in the project file.
plugins:
  providers:
    - name: fetch
      grants:
        http:
          - url: URL/v1/pets
            methods: [GET, POST]
            headers:
              X-Key:
                env: API_KEY
          - url: URL/v1/users
            methods: [GET]
          - url: URL/v2/health
            methods: [GET]
`, "URL", server.URL), string(text))

	// A second run adds to the file.
	p, send = fetchIn(t, dir, declared, true)
	require.NoError(t, send("DELETE", server.URL+"/v1/pets/dog"))
	require.NoError(t, p.WriteLearned(file))
	learned, err := program.LoadLearnedGrants(file)
	require.NoError(t, err)
	require.Len(t, learned, 1)
	require.Equal(t, []string{"DELETE", "GET", "POST"}, learned[0].Grants[0].Methods)
	require.Equal(t, "X-Key", learned[0].Grants[0].Headers[0].Name)

	text, err = os.ReadFile(file)
	require.NoError(t, err)
	_, grants, _ := strings.Cut(string(text), "      grants:\n")
	project := "name: demo\nplugins:\n  providers:\n    - name: fetch\n      path: fetch.wasm\n      grants:\n" + grants
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(project), 0o644))
	_, err = program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)

	least := fmt.Sprintf(`{http: [{url: "%s/v1/pets", methods: [DELETE, GET, POST], headers: {X-Key: {env: API_KEY}}}, {url: "%[1]s/v1/users", methods: [GET]}]}`, server.URL)
	_, send = fetchIn(t, dir, least, false)
	keys = nil
	require.NoError(t, send("DELETE", server.URL+"/v1/pets/parrot"))
	require.NoError(t, send("GET", server.URL+"/v1/users/8"))
	require.Equal(t, []string{"DELETE /v1/pets/parrot k1", "GET /v1/users/8 "}, keys)
	require.ErrorIs(t, send("POST", server.URL+"/v1/users"), abi.ErrDenied)
	require.ErrorIs(t, send("GET", server.URL+"/v1"), abi.ErrDenied)
}

// The module of a stranger's project has neither the repository that the project came with, nor what Husk keeps there, by
// whatever grant, and has nothing at all before the project is run: not in an editor, which only looks at it.
func TestAStrangersModuleIsNotGrantedWhatIsNotTheProjects(t *testing.T) {
	const schema = `{"name": "words", "version": "2.1.0", "resources": {}}`
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kit.wasm"), testmodule.Build(t, "../../cmd/husk/testdata/kit"), 0o644))
	hidden := []string{".git", "deep/.git", ".hg", ".svn", ".jj", ".husk", "deep/.husk"}
	for _, at := range append(hidden, "api") {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, at), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, at, "words.json"), []byte(schema), 0o644))
	}
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	// made has the module read a file for its schema.
	made := func(trust projectroot.Trust, runs bool, grant, file string) error {
		text := fmt.Sprintf("name: demo\nplugins: {providers: [{name: kit, path: kit.wasm, grants: {fs: [%q]}}]}\npackages: {words: {source: kit, version: 1.0.0, parameters: [%q]}}\n", grant, file)
		project, err := program.ParseProject(t.Context(), projectroot.New(dir, trust), "Husk.yaml", []byte(text))
		if err != nil {
			return err
		}
		p, err := plugins.Open(t.Context(), project, plugins.Options{Places: plugins.Places{Cache: cache}, Runs: runs})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close(context.Background())) }()
		_, err = p.Package(t.Context(), project.Package("words"))
		return err
	}
	require.NoError(t, made(projectroot.Untrusted, true, ".", "api/words.json"))
	require.NoError(t, made(projectroot.Trusted, false, ".", "api/words.json"))
	require.ErrorContains(t, made(projectroot.Untrusted, false, ".", "api/words.json"), "api/words.json")
	for _, at := range hidden {
		require.ErrorContains(t, made(projectroot.Untrusted, true, ".:rw", at+"/words.json"), at+"/words.json", "by a grant above it")
		for _, grant := range []string{at, at + ":rw", at + "/new:rw", "./api/../" + at} {
			require.ErrorContains(t, made(projectroot.Untrusted, true, grant, at+"/words.json"), "the project is not trusted", grant)
		}
	}
	require.NoError(t, made(projectroot.Trusted, false, ".git", ".git/words.json"), "a user may grant it by its name")
}
