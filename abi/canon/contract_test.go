package canon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.bytecodealliance.org/wit"
)

const contractDocument = "docs/contract.md"

// TestContractDocument holds docs/contract.md to the WIT, and to the tests that it names.
func TestContractDocument(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, contractDocument))
	require.NoError(t, err)
	rows := map[string]string{} // by what is in the first cell
	for line := range strings.Lines(string(text)) {
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 && cells[0] == "" {
			rows[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	resolve, err := wit.LoadJSON(filepath.Join(root, "wit", "husk-provider.wit.json"))
	require.NoError(t, err)
	for _, i := range resolve.Interfaces {
		for name := range i.Functions.All() {
			require.Contains(t, rows, *i.Name+"."+name, "a function without a row in %s", contractDocument)
		}
		for name, def := range i.TypeDefs.All() {
			if _, used := def.Kind.(*wit.TypeDef); used { // a type of another interface
				continue
			}
			row, ok := rows[*i.Name+"."+name]
			require.True(t, ok, "the type %s.%s has no row in %s", *i.Name, name, contractDocument)
			for _, part := range partsOf(def) {
				require.Contains(t, row, "`"+part+"`", "%s.%s", *i.Name, name)
			}
		}
	}

	references := testReference.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, references)
	for _, r := range references {
		requireTest(t, filepath.Join(root, filepath.FromSlash(r[1])), r[2])
	}
}

// testReference is a file of tests, and the name of a test where it is one of Go.
var testReference = regexp.MustCompile("`([\\w/-]+(?:_test\\.go|\\.txtar))(?::(\\w+))?`")

// partsOf are the names of what a type consists of.
func partsOf(def *wit.TypeDef) []string {
	var parts []string
	switch kind := def.Kind.(type) {
	case *wit.Record:
		for _, f := range kind.Fields {
			parts = append(parts, f.Name)
		}
	case *wit.Variant:
		for _, c := range kind.Cases {
			parts = append(parts, c.Name)
		}
	case *wit.Enum:
		for _, c := range kind.Cases {
			parts = append(parts, c.Name)
		}
	case *wit.Flags:
		for _, f := range kind.Flags {
			parts = append(parts, f.Name)
		}
	}
	return parts
}

// requireTest requires a script, or a test of that name in a file of Go.
func requireTest(t *testing.T, file, name string) {
	t.Helper()
	if name == "" {
		require.FileExists(t, file)
		return
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return
		}
	}
	t.Errorf("%s names %s, which %s does not have", contractDocument, name, file)
}
