// Package linuxcalls lets Go code for Linux build for WebAssembly. It gives the packages syscall and golang.org/x/sys/unix the
// names that they have on Linux, out of their own source, whatever the version. Calls that WebAssembly has work as before, and
// any other system call fails with ENOSYS. Ports use it; it changes nothing of a program that runs.
package linuxcalls

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is a parsed file.
type source struct {
	path string
	text string
	file *ast.File
	fset *token.FileSet
}

func parse(path, text string) (*source, error) {
	s := &source{path: path, text: text, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution)
	return s, err
}

// at returns the offset of a position.
func (s *source) at(p token.Pos) int { return s.fset.Position(p).Offset }

// of returns the text of a node.
func (s *source) of(n ast.Node) string { return s.text[s.at(n.Pos()):s.at(n.End())] }

// imports returns the paths that a node names packages of.
func (s *source) imports(n ast.Node) (paths []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if base, ok := selector.X.(*ast.Ident); ok {
				for _, spec := range s.file.Imports {
					path, _ := strconv.Unquote(spec.Path.Value)
					if path[strings.LastIndexByte(path, '/')+1:] == base.Name {
						paths = append(paths, path)
					}
				}
			}
		}
		return true
	})
	return paths
}

// Matches reports whether a file is of a build without cgo.
func Matches(dir, name, goos, goarch string) (bool, error) {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = goos, goarch, false, nil
	return c.MatchFile(dir, name)
}

// goFiles are the names of the files of a directory that a build may select.
func goFiles(entries []os.DirEntry) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !yield(name) {
				return
			}
		}
	}
}

// read parses the files of a directory that a system and a processor select.
func read(dir, goos, goarch string) (all []*source, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for name := range goFiles(entries) {
		ok, err := Matches(dir, name, goos, goarch)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := parse(path, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// declared is a package-level declaration.
type declared struct {
	in *source
	// node is an *ast.FuncDecl, or the spec of a type, constant, or variable.
	node ast.Node
	kind token.Token
	// value is the value of a constant, nil if it repeats one.
	value ast.Expr
}

// declarations are the declarations of a package, and the methods of its types.
type declarations struct {
	names   map[string]declared
	methods map[string][]declared
}

// sorted returns the names in order.
func (d *declarations) sorted() []string { return slices.Sorted(maps.Keys(d.names)) }

func declarationsOf(sources []*source) *declarations {
	all := &declarations{map[string]declared{}, map[string][]declared{}}
	for _, s := range sources {
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d := declared{in: s, node: decl, kind: token.FUNC}
				if decl.Recv == nil {
					all.names[decl.Name.Name] = d
				} else if of := receiver(decl); of != "" {
					all.methods[of] = append(all.methods[of], d)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						all.names[spec.Name.Name] = declared{in: s, node: spec, kind: token.TYPE}
					case *ast.ValueSpec:
						for i, name := range spec.Names {
							d := declared{in: s, node: spec, kind: decl.Tok}
							if len(spec.Values) == len(spec.Names) {
								d.value = spec.Values[i]
							}
							all.names[name.Name] = d
						}
					}
				}
			}
		}
	}
	return all
}

// receiver returns the name of the type that a method is of.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// fails reports whether a function returns an error.
func fails(f *ast.FuncDecl, s *source) bool {
	return f.Type.Results != nil && slices.ContainsFunc(f.Type.Results.List, func(r *ast.Field) bool { return isError(s.of(r.Type)) })
}

func isError(result string) bool {
	return result == "error" || result == "Errno" || result == "syscall.Errno"
}

// refusal returns the body of a function that returns an error, or nothing but zeros if it returns none.
func refusal(f *ast.FuncDecl, s *source, enosys string) string {
	if f.Type.Results == nil {
		return "{}"
	}
	var values []string
	for _, r := range f.Type.Results.List {
		value := "*new(" + s.of(r.Type) + ")"
		if isError(s.of(r.Type)) {
			value = enosys
		}
		values = append(values, slices.Repeat([]string{value}, max(1, len(r.Names)))...)
	}
	return "{\n\treturn " + strings.Join(values, ", ") + "\n}"
}

// answers are the bodies of functions that need no system to answer.
var answers = map[string]string{
	"Uname": "{\n\t*buf = Utsname{}\n" +
		assigned("buf.Sysname", "wasi") + assigned("buf.Nodename", "(none)") + assigned("buf.Release", "0.0.0") + assigned("buf.Version", "0.0.0") +
		assigned("buf.Machine", "wasm32") + assigned("buf.Domainname", "(none)") + "\treturn nil\n}", // as C's library for WASI does
}

// answer returns the body of a function that needs no system, empty for all others.
func answer(f *ast.FuncDecl) string {
	if f.Recv != nil {
		return ""
	}
	return answers[f.Name.Name]
}

// assigned returns statements that set the elements of an array to the bytes of a text, whatever their type.
func assigned(array, text string) string {
	var all strings.Builder
	for i, c := range text {
		fmt.Fprintf(&all, "\t%s[%d] = %q\n", array, i, c)
	}
	return all.String()
}

// edits are changes of a file's text.
type edits []edit

type edit struct {
	from, to int
	text     string
}

// apply returns a text with all changes, which must not overlap.
func (e edits) apply(text string) string {
	slices.SortStableFunc(e, func(a, b edit) int { return b.from - a.from })
	for _, one := range e {
		text = text[:one.from] + one.text + text[one.to:]
	}
	return text
}
