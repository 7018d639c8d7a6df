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

// The table has every variable that husk reads: in its own sources each text that looks like the name of one, in what it is made
// of each name that is read. A variable that is new there fails this test until somebody has decided what runs get of it.
func TestVariables(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-json=Dir,GoFiles,CgoFiles,Module", "github.com/husk-dev/husk/cmd/husk/husk-full").Output()
	require.NoError(t, err)
	missing := map[string]string{}
	found := func(name, file string) {
		if _, _, known := find(name); !known && noVariables[name] == "" {
			missing[name] = file
		}
	}
	packages := 0
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; packages++ {
		var p struct {
			Dir               string
			GoFiles, CgoFiles []string
			Module            *struct{ Main bool }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			file := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			// Most files read none, and the pattern is slow.
			if slices.ContainsFunc([]string{`env("`, `Env("`, `lookup("`}, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
				for _, read := range readCall.FindAllSubmatch(text, -1) {
					found(string(read[1]), file)
				}
			}
			if p.Module == nil || !p.Module.Main || strings.HasSuffix(file, filepath.FromSlash("internal/worker/environment.go")) {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, err := strconv.Unquote(literal.Value); err == nil && nameForm.MatchString(value) {
						found(value, file)
					}
				}
				return true
			})
		}
	}
	require.Greater(t, packages, 200, "it looks at all of husk")
	for name, file := range missing {
		t.Errorf("%s, in %s, is not in the table of environment.go: say what a run at a worker gets of it", name, file)
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
