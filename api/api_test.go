// Package api has the public interface of the module as text, one file for each package. A change of it
// is seen in review: a line that is gone or altered breaks programs and providers.
//
//	go test ./api -update      # writes the files
package api

import (
	"bytes"
	"flag"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

var update = flag.Bool("update", false, "write the files")

const module = "github.com/husk-dev/husk/"

// unpublished are folders whose packages nobody else imports.
var unpublished = []string{"api", "bench", "cmd", "docs", "editors", "examples", "internal", "release", "testdata", "wit"}

// published returns patterns for the packages of all other folders.
func published(t *testing.T) (patterns []string) {
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(unpublished, entry.Name()) {
			patterns = append(patterns, "./"+entry.Name()+"/...")
		}
	}
	return patterns
}

func TestPublicInterface(t *testing.T) {
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes, Dir: ".."}, published(t)...)
	require.NoError(t, err)
	files := make(map[string]string)
	for _, p := range all {
		path := strings.TrimPrefix(p.PkgPath, module)
		if slices.Contains(strings.Split(path, "/"), "internal") {
			continue
		}
		require.Empty(t, p.Errors)
		files[strings.ReplaceAll(path, "/", ".")+".txt"] = describe(t, p.Types)
	}
	require.NotEmpty(t, files)

	written, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	if *update {
		for _, file := range written {
			require.NoError(t, os.Remove(file))
		}
		for file, content := range files {
			require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		}
		return
	}
	for _, file := range written {
		require.Contains(t, files, file, "the package is gone: go test ./api -update")
	}
	for file, content := range files {
		before, err := os.ReadFile(file)
		require.NoError(t, err, "the package is new: go test ./api -update")
		require.Equal(t, string(before), content, "the public interface changed. If that is intended: go test ./api -update")
	}
}

// describe returns a line for each exported constant, variable, function, type, field, and method.
func describe(t *testing.T, p *types.Package) string {
	t.Helper()
	var out bytes.Buffer
	short := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		named, ok := object.(*types.TypeName)
		if !ok {
			if of, ok := object.Type().(*types.Named); ok && of.Obj().Pkg() != nil {
				require.True(t, of.Obj().Exported(), "%s has a type that nobody else can name", object)
			}
			fmt.Fprintln(&out, types.ObjectString(object, short))
			continue
		}
		if named.IsAlias() {
			if target, ok := types.Unalias(named.Type()).(*types.Named); ok && target.Obj().Pkg() != nil {
				require.NotContains(t, target.Obj().Pkg().Path(), "/internal/", "%s: go doc shows neither fields nor methods of it", named)
			}
			fmt.Fprintln(&out, types.ObjectString(named, short))
			continue
		}
		of := named.Type().(*types.Named)
		head := "type " + types.TypeString(of, short)
		switch under := of.Underlying().(type) {
		case *types.Struct:
			fmt.Fprintln(&out, head, "struct")
			for field := range under.Fields() {
				if field.Exported() {
					fmt.Fprintf(&out, "%s struct, %s %s\n", head, field.Name(), types.TypeString(field.Type(), short))
				}
			}
		case *types.Interface:
			fmt.Fprintln(&out, head, "interface")
			for method := range under.Methods() {
				fmt.Fprintf(&out, "%s interface, %s%s\n", head, method.Name(), signature(method, short))
			}
			continue
		default:
			fmt.Fprintln(&out, head, types.TypeString(under, short))
		}
		methods := types.NewMethodSet(types.NewPointer(of))
		for selection := range methods.Methods() {
			if method := selection.Obj().(*types.Func); method.Exported() {
				fmt.Fprintf(&out, "method (%s) %s%s\n", types.TypeString(of, short), method.Name(), signature(method, short))
			}
		}
	}
	return out.String()
}

func signature(f *types.Func, short types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(f.Type(), short), "func")
}
