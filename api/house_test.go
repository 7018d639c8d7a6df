package api

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// needed are the modules whose packages are compiled into a program that imports the package, with the helpers for its tests.
// What the command needs beside them, such as databases, registries, and other ecosystems, is no dependency of these.
var needed = map[string][]string{
	"abi":             nil,
	"abi/property":    nil,
	"abi/schema":      nil,
	"guest-sdk/guest": nil,
	"guest-sdk/http":  nil,
	"guest-sdk/...": {
		"github.com/fxamacker/cbor/v2", "github.com/rogpeppe/go-internal", "github.com/tetratelabs/wazero",
		"github.com/x448/float16", "golang.org/x/sys",
	},
	"host": {"github.com/fxamacker/cbor/v2", "github.com/tetratelabs/wazero", "github.com/x448/float16", "golang.org/x/sys"},
	"host/trust": {
		"github.com/digitorus/pkcs7", "github.com/digitorus/timestamp", "github.com/transparency-dev/merkle",
		"github.com/youmark/pkcs8", "golang.org/x/crypto",
	},
	"engine": {"github.com/go-json-experiment/json", "github.com/google/uuid"},
	"engine/...": {
		"github.com/blang/semver/v4", "github.com/go-json-experiment/json", "github.com/google/uuid", "github.com/rivo/uniseg",
		"github.com/stretchr/testify", "go.yaml.in/yaml/v3",
	},
}

// Who embeds the host or the engine, or writes a provider, compiles little beside it.
func TestTheCoreIsLean(t *testing.T) {
	for pkg, modules := range needed {
		require.ElementsMatch(t, modules, modulesOf(linked(t, packagesOf(t, pkg)...)), "the modules of %s", pkg)
	}
}

// forTests are the modules in go.mod that no package needs that others can import: tests, generators, and their helpers do.
// "go list -m all" shows them to everybody who requires Husk.
var forTests = map[string]string{
	"github.com/google/go-containerregistry":   "a registry that others wrote, for the client of registries",
	"github.com/santhosh-tekuri/jsonschema/v6": "the rules of Pulumi's schemas and of the project's schema, by a reader that others wrote",
	"go.bytecodealliance.org":                  "the parser of WIT, with which abi is generated",
	"github.com/coreos/go-semver":              "needed by that",
	"github.com/sergi/go-diff":                 "needed by its tests",
	"github.com/inconshreveable/mousetrap":     "linked on Windows",
	"golang.org/x/tools":                       "the list of what a package exports",
	"pgregory.net/rapid":                       "generated tests: the model of the engine, and twenty packages",
}

// What only tests need is seldom worth a line in the go.mod of all: a module of its own, or some lines of ours, do as well.
func TestFewModulesAreForTests(t *testing.T) {
	public := slices.DeleteFunc(packagesOf(t, "..."), func(p *listedPackage) bool { return strings.Contains(p.ImportPath, "/internal/") })
	needed := modulesOf(linked(t, public...))
	text, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	file, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	var others []string
	for _, r := range file.Require {
		if !slices.Contains(needed, r.Mod.Path) {
			others = append(others, r.Mod.Path)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(forTests)), others)
	require.LessOrEqual(t, len(file.Require), mostModules, "all of them are in the list of who requires Husk")
}

// What husk links outside of Go's library: the first run of a checkout compiles it. Much of what few need is in husk-full.
const (
	mostModules  = 61
	mostPackages = 230
	mostLines    = 300_000
	mostBytes    = 24_000_000 // without symbols
)

// Who runs husk in a checkout compiles little. What goes beyond belongs into package parts, which only husk-full links.
func TestTheCommandIsLight(t *testing.T) {
	packages, lines := linked(t, packagesOf(t, "cmd/husk")...), 0
	for _, p := range packages {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	require.Greater(t, len(packages), 100)
	require.LessOrEqual(t, len(packages), mostPackages)
	require.LessOrEqual(t, lines, mostLines)
}

// husk is the one program that every user has, in CI often fetched anew for each run.
func TestTheCommandIsSmall(t *testing.T) {
	if testing.Short() || runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("links the program, whose size is another on each platform")
	}
	path := filepath.Join(t.TempDir(), "husk")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "../cmd/husk").CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(mostBytes))
}

// maxFiles is the number of files of a package that a reader can still look through, tests included.
const maxFiles = 30

func TestPackagesAreSmall(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("this is no clone")
	}
	files := make(map[string]int)
	for name := range strings.FieldsSeq(string(out)) {
		if !slices.Contains(strings.Split(name, "/"), "testdata") {
			files[filepath.Dir(name)]++
		}
	}
	for dir, count := range files {
		require.LessOrEqual(t, count, maxFiles, "%s has too many files", dir)
	}
}
