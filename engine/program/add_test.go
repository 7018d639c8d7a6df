package program

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
		p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		require.NoError(t, p.AddProvider(t.Context(), "random", "acme/random", "^1"))
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
		p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		err = p.AddProvider(t.Context(), "random", "acme/random", "^1")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "write it under plugins.providers yourself:\n  - "+entry)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, string(after))
	}
}

// A declaration is added without a change to anything else, comments and blank lines
// included, and takes the place of an earlier one.
func TestAddPackage(t *testing.T) {
	const head = "name: shop # a shop\n\nplugins:\n    providers: [{name: api, path: a.wasm}]\n"
	replacement := Package{Name: "pets", Source: "api", Version: "1.0.0", Parameters: &Parameterization{Name: "pets", Version: "2.0.0", Value: []byte("value")}}
	extension := Package{Name: "pets", Source: "api", Extension: &Parameterization{Name: "pets", Version: "2.0.0", Value: []byte{}}}
	both := extension
	both.Parameters = &Parameterization{Name: "base", Version: "3.0.0", Value: []byte("base")}
	const line = `pets: {source: api, version: 1.0.0, parameters: {version: 2.0.0, value: "dmFsdWU="}}`
	for name, test := range map[string]struct {
		before string
		pkg    Package
		after  string
	}{
		"the first":           {head, replacement, head + "packages:\n  " + line + "\n"},
		"without a line end":  {strings.TrimSuffix(head, "\n"), replacement, head + "packages:\n  " + line + "\n"},
		"none yet":            {"packages:\n" + head, replacement, "packages:\n  " + line + "\n" + head},
		"after others":        {"packages:\n    api: api@1.0.0 # pinned\n\n" + head, replacement, "packages:\n    api: api@1.0.0 # pinned\n    " + line + "\n\n" + head},
		"in place of another": {"packages:\n  pets:\n    source: api\n    parameters:\n      - x\n  # mine\n  api: api\n" + head, replacement, "packages:\n  " + line + "\n  # mine\n  api: api\n" + head},
		"an extension":        {head, extension, head + `packages:` + "\n" + `  pets: {source: api, extension: {version: 2.0.0, value: ""}}` + "\n"},
		"both":                {head, both, head + `packages:` + "\n" + `  pets: {source: api, parameters: {name: base, version: 3.0.0, value: "YmFzZQ=="}, extension: {version: 2.0.0, value: ""}}` + "\n"},
		"words":               {head, Package{Name: "pets", Source: "api", Extension: &Parameterization{Args: []string{"a", "true"}}}, head + "packages:\n  pets: {source: api, extension: [a, \"true\"]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "Husk.yaml")
			require.NoError(t, os.WriteFile(path, []byte(test.before), 0o644))
			p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			require.NoError(t, p.AddPackage(t.Context(), test.pkg))
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, test.after, string(after))
		})
	}
}

// Where the file is written in a way that is not understood, nothing is changed, and the
// user is told what to write.
func TestAddPackageByHand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "Husk.yaml")
	const text = "name: shop\nplugins: {providers: [{name: api, path: a.wasm}]}\npackages: {api: api}\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	err = p.AddPackage(t.Context(), Package{Name: "pets", Source: "api", Extension: &Parameterization{Args: []string{"x"}}})
	require.EqualError(t, err, "cannot add the package \"pets\" to Husk.yaml: its packages are not written one below the other\n"+
		"write it under packages yourself:\n  pets: {source: api, extension: [x]}")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(after))
}

// Commands that add providers and packages at once keep the declarations of each other.
func TestDeclarationsAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no directory can be locked there")
	}
	dir := t.TempDir()
	const text = "name: shop\nplugins:\n  providers:\n    - {name: api, path: a.wasm}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
	load := func() *Project {
		t.Helper()
		p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		return p
	}
	var all sync.WaitGroup
	var failed [16]error
	for i := range failed {
		p, name := load(), "p"+strconv.Itoa(i)
		all.Go(func() {
			if i%2 == 0 {
				failed[i] = p.AddProvider(t.Context(), name, "acme/"+name, "")
			} else {
				failed[i] = p.AddPackage(t.Context(), Package{Name: name, Source: "api", Version: "1.0.0", Parameters: &Parameterization{Name: name, Version: "2.0.0", Value: []byte("v")}})
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed[:]...))
	p := load()
	require.Len(t, p.Providers, 1+8)
	for i := 1; i < len(failed); i += 2 {
		require.Equal(t, "1.0.0", p.Package("p"+strconv.Itoa(i)).Version)
	}
}
