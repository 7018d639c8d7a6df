package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noVariables are texts of the sources that look like variables of the environment, and are none.
var noVariables = map[string]string{
	"SHA2_256": "sigstore's name of a hash", "SHA2_384": "another one", "SHA2_512": "another one", "FETCH_HEAD": "git's name of a commit",
}

var (
	readCall = regexp.MustCompile(`(?:\bGetenv|\bLookupEnv|\bgogetenv|\bUnsetenv|\bSetenv|\benv|\blookup)\("([A-Za-z_][A-Za-z0-9_]*)"`)
	nameForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+_?$`)
)

// computed finds a read of a variable whose name is no text in its place.
var computed = regexp.MustCompile(`\bos\.(?:Getenv|LookupEnv|ExpandEnv|Expand)\([^")]|\bsyscall\.Getenv\([^")]|\bos\.(?:Getenv|LookupEnv)[^(\w]`)

// foreign is the form of names in libraries that compute them: those of PostgreSQL have no underscores.
var foreign = regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)+_?|PG[A-Z]+)$`)

// The table has every variable that husk and husk-server read: in their own sources each text that looks like the name of one,
// in what they are made of each name that is read, and where that is computed, each text of the package that could be one. A
// variable that is new there fails this test until somebody has decided what runs get of it.
func TestVariables(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all of husk and of husk-server")
	}
	missing := map[string]string{}
	found := func(name, file string) {
		if _, _, known := find(name); !known && noVariables[name] == "" {
			missing[name] = file
		}
	}
	seen := map[string]bool{}
	for _, list := range [][]string{{"../..", "./cmd/husk/husk-full"}, {"../../cmd/husk-server", "."}} {
		out, err := exec.Command("go", "list", "-C", list[0], "-deps", "-json=Dir,GoFiles,CgoFiles,ImportPath,Module", list[1]).Output()
		require.NoError(t, err)
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var p listedPackage
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
			if !seen[p.ImportPath] {
				seen[p.ImportPath] = true
				p.variables(t, found)
			}
		}
	}
	require.Greater(t, len(seen), 400, "it looks at all of husk and of husk-server")
	for name, file := range missing {
		t.Errorf("%s, in %s, is not in the table of environment.go: say what a run at a worker gets of it", name, file)
	}
}

type listedPackage struct {
	Dir, ImportPath   string
	GoFiles, CgoFiles []string
	Module            *struct{ Path string }
}

// isHusks reports whether the package is one of this repository.
func (p listedPackage) isHusks() bool {
	return p.Module != nil && (p.Module.Path == "github.com/husk-dev/husk" || strings.HasPrefix(p.Module.Path, "github.com/husk-dev/husk/"))
}

// variables finds those that a package reads.
func (p listedPackage) variables(t *testing.T, found func(name, file string)) {
	texts, computes := map[string][]byte{}, false
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		file := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = text
		// Most files read none, and the pattern is slow.
		if slices.ContainsFunc([]string{`env("`, `Env("`, `lookup("`}, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
			for _, read := range readCall.FindAllSubmatch(text, -1) {
				found(string(read[1]), file)
			}
		}
		// What golang.org/x/sys reads is what its caller names.
		computes = computes || p.Module != nil && p.Module.Path != "golang.org/x/sys" && (bytes.Contains(text, []byte("env")) || bytes.Contains(text, []byte("Env"))) && computed.Match(text)
	}
	form := foreign
	switch {
	case p.isHusks():
		form = nameForm
	case !computes:
		return
	}
	for file, text := range texts {
		if strings.HasSuffix(file, filepath.FromSlash("internal/worker/environment.go")) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil && form.MatchString(value) {
					found(value, file)
				}
			}
			return true
		})
	}
}

// The process of a worker, which has its token and is not confined, opens no project: the process of a run does. All that it reads
// of the format of projects is the trust policy of its operator.
func TestTheWorkerOpensNoProject(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	policies := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			require.NotRegexp(t, `/engine/(projectroot|program/.*|contents)$|/internal/(plugins|lockfile|stackrun|registry)$`, path, name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "program" {
					require.Equal(t, "LoadTrust", s.Sel.Name, name)
					policies++
				}
			}
			return true
		})
	}
	require.Equal(t, 1, policies)
}
