package guest_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exported returns the exported names of the package in a directory.
func exported(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, file, nil, 0)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	pkg, err := doc.NewFromFiles(set, parsed, "guest")
	require.NoError(t, err)
	var names []string
	values := func(list []*doc.Value) {
		for _, v := range list {
			names = append(names, v.Names...)
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			names = append(names, f.Name)
		}
	}
	values(pkg.Consts)
	values(pkg.Vars)
	functions(pkg.Funcs)
	for _, typ := range pkg.Types {
		names = append(names, typ.Name)
		values(typ.Consts)
		values(typ.Vars)
		functions(typ.Funcs)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// A provider that imports the package by its former path builds.
func TestTheFormerPathHasTheFormerAPI(t *testing.T) {
	newer := []string{
		"Action", "ActionOf", "Closer", "Ephemeral", "EphemeralOf", "Exister", "ExistsRequest", "Lease", "Opened", "Opener", "Renewer",
	}
	former := slices.DeleteFunc(exported(t, "guest"), func(name string) bool { return slices.Contains(newer, name) })
	require.Equal(t, former, exported(t, "."))
}
