// Package doctest checks that the tests exist that a document names, for tests.
package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference matches a test file, with the name of a test if the file is Go.
var reference = regexp.MustCompile("`([\\w/-]+(?:_test\\.go|\\.txtar))(?::(\\w+))?`")

// Require returns the text of a document, a path below root. It fails the test unless every test
// that the document names in backquotes exists: `path/to/some_test.go:TestName` or
// `path/to/script.txtar`, relative to root.
func Require(t *testing.T, root, document string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
	require.NoError(t, err)
	references := reference.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, references, "%s names no test", document)
	files := make(map[string]map[string]bool)
	for _, r := range references {
		file, name := filepath.Join(root, filepath.FromSlash(r[1])), r[2]
		if name == "" {
			require.FileExists(t, file, "%s names it", document)
			continue
		}
		if files[file] == nil {
			files[file] = functions(t, file)
		}
		if !files[file][name] {
			t.Errorf("%s names %s, which %s does not have", document, name, r[1])
		}
	}
	return string(text)
}

func functions(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			names[f.Name.Name] = true
		}
	}
	return names
}
