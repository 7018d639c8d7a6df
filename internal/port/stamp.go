package port

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// releaseVariable finds the variables that a release of the provider sets to its version.
var releaseVariable = regexp.MustCompile(`-X[ '"=]*([\w./\-]+)=v?\{\{ *\.Version *\}\}`)

// stamped returns the variables that are set to the version: the ones that the configuration of goreleaser names, and the
// variable version of the main package.
func (w *build) stamped() []string {
	var names []string
	for _, file := range []string{".goreleaser.yml", ".goreleaser.yaml", "goreleaser.yml", "goreleaser.yaml"} {
		text, err := os.ReadFile(filepath.Join(w.source.root, file))
		if err != nil {
			continue
		}
		for _, found := range releaseVariable.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	for _, name := range []string{"version", "Version"} {
		if w.mainDeclares(name) {
			names = append(names, "main."+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mainDeclares reports whether the main package has a variable of that name that the linker can set: a text
// without a value, or with a constant one.
func (w *build) mainDeclares(name string) bool {
	for _, file := range w.graph.main.GoFiles {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(w.graph.main.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler has the better error
		}
		for _, d := range parsed.Decls {
			declared, ok := d.(*ast.GenDecl)
			if !ok || declared.Tok != token.VAR {
				continue
			}
			for _, spec := range declared.Specs {
				if settable(spec.(*ast.ValueSpec), name) {
					return true
				}
			}
		}
	}
	return false
}

func settable(spec *ast.ValueSpec, name string) bool {
	at := slices.IndexFunc(spec.Names, func(i *ast.Ident) bool { return i.Name == name })
	if at < 0 {
		return false
	}
	if at >= len(spec.Values) {
		t, ok := spec.Type.(*ast.Ident)
		return ok && t.Name == "string"
	}
	value, ok := spec.Values[at].(*ast.BasicLit)
	return ok && value.Kind == token.STRING && !strings.Contains(value.Value, "\n")
}
