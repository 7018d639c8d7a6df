package lazyregexp_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wrong expression would show only where it is used.
func TestEachExpressionCompiles(t *testing.T) {
	found := 0
	require.NoError(t, filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && slices.Contains([]string{".git", "node_modules", "target"}, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil // other tests make and remove directories here
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "lazyregexp.Regexp{") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || types.ExprString(literal.Type) != "lazyregexp.Regexp" {
				return true
			}
			value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(literal.Elts[0].(*ast.KeyValueExpr).Value))
			require.NoError(t, err)
			_, err = regexp.Compile(constant.StringVal(value.Value))
			require.NoError(t, err, path)
			found++
			return true
		})
		return nil
	}))
	require.Greater(t, found, 20)
}
