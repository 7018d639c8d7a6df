package linuxcalls

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// directives are the directives of functions without a body, which the runtime has on Linux.
var directives = regexp.MustCompile(`(?m)^//go:(linkname|noescape).*\n`)

// tables have the names of numbers, for functions.
var tables = map[string]string{"ErrnoName": "errorList", "SignalName": "signalList"}

// exported is a name of a type of package syscall in its own source.
var exported = regexp.MustCompile(`\b[A-Z]\w*`)

// Unix changes the files for Linux of the package golang.org/x/sys/unix in a directory, so that they build with the [Library] of
// a Go: it takes its constants from package syscall where that has them, and also the functions of the same signature that
// WebAssembly has. All others end in a system call, which fails.
func Unix(dir, root string) error {
	l, err := readLibrary(root)
	if err != nil {
		return err
	}
	sources, err := read(dir, "linux", like)
	if err != nil {
		return err
	}
	for _, s := range sources {
		changed := l.unix(s).apply(s.text)
		changed = directives.ReplaceAllString(changed, "")
		if changed == s.text {
			continue
		}
		if changed, err = withoutUnused(s.path, changed); err != nil {
			return err
		}
		if err := os.WriteFile(s.path, []byte(changed), 0o644); err != nil {
			return fmt.Errorf("changing %s: %w", filepath.Base(s.path), err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "asm_linux_amd64.s")); err != nil { // jumps to package syscall
		return err
	}
	return Choose(dir)
}

// withoutUnused returns the text of a file without the names of imports that it does not use any more.
func withoutUnused(path, text string) (string, error) {
	s, err := parse(path, text)
	if err != nil {
		return "", err
	}
	used := s.imports(s.file)
	var changes edits
	for _, spec := range s.file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); spec.Name == nil && !slices.Contains(used, path) {
			at := s.at(spec.Pos())
			changes = append(changes, edit{at, at, "_ "})
		}
	}
	return changes.apply(text), nil
}

// unix returns the changes of a file.
func (l *library) unix(s *source) (changes edits) {
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			body, from := l.body(s, decl), s.at(decl.End())
			if decl.Body != nil {
				from = s.at(decl.Body.Pos())
			}
			if body != "" {
				changes = append(changes, edit{from, s.at(decl.End()), " " + body})
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					changes = append(changes, l.values(s, decl.Tok, value)...)
				}
			}
		}
	}
	uses := slices.ContainsFunc(changes, func(e edit) bool { return strings.Contains(e.text, "syscall.") })
	if uses && !slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"syscall"` }) {
		at := s.at(s.file.Name.End())
		changes = append(changes, edit{at, at, "\n\nimport \"syscall\""})
	}
	return changes
}

// body returns another body for a function, empty if it keeps its own.
func (l *library) body(s *source, f *ast.FuncDecl) string {
	here, ok := l.here.names[f.Name.Name]
	theirs, isFunc := here.node.(*ast.FuncDecl)
	if ok && isFunc && f.Recv == nil && f.Name.IsExported() && signature(s, f) == exported.ReplaceAllString(signature(here.in, theirs), "syscall.$0") {
		var args []string
		for _, p := range f.Type.Params.List {
			for _, name := range p.Names {
				args = append(args, name.Name)
			}
		}
		call := "syscall." + f.Name.Name + "(" + strings.Join(args, ", ") + ")"
		if f.Type.Results != nil {
			call = "return " + call
		}
		return "{\n\t" + call + "\n}"
	}
	if body := answer(f); body != "" {
		return body
	}
	if table := tables[f.Name.Name]; table != "" { // is in the order of Linux
		return "{\n\tfor _, known := range " + table + " {\n\t\tif known.num == " + f.Type.Params.List[0].Names[0].Name +
			" {\n\t\t\treturn known.name\n\t\t}\n\t}\n\treturn \"\"\n}"
	}
	if f.Body == nil {
		return refusal(f, s, "syscall.ENOSYS")
	}
	return ""
}

// signature returns the types of parameters and results, one for each name.
func signature(s *source, f *ast.FuncDecl) string {
	var all []string
	for _, list := range []*ast.FieldList{f.Type.Params, f.Type.Results} {
		if list != nil {
			for _, field := range list.List {
				for range max(1, len(field.Names)) {
					all = append(all, s.of(field.Type))
				}
			}
		}
		all = append(all, ";")
	}
	return strings.Join(all, " ")
}

// values returns the changes of constants, and of the tables of their names.
func (l *library) values(s *source, kind token.Token, spec *ast.ValueSpec) (changes edits) {
	if len(spec.Values) != len(spec.Names) {
		return nil
	}
	for i, name := range spec.Names {
		value := spec.Values[i]
		switch {
		case kind == token.CONST && l.isConstant(name.Name):
			changes = append(changes, edit{s.at(value.Pos()), s.at(value.End()), "syscall." + name.Name})
		case name.Name == tables["ErrnoName"] || name.Name == tables["SignalName"]:
			ast.Inspect(value, func(n ast.Node) bool {
				if row, ok := n.(*ast.CompositeLit); ok && row.Type == nil && len(row.Elts) > 1 {
					of, err := strconv.Unquote(s.of(row.Elts[1]))
					if err == nil && l.isConstant(of) {
						changes = append(changes, edit{s.at(row.Elts[0].Pos()), s.at(row.Elts[0].End()), of})
					}
				}
				return true
			})
		}
	}
	return changes
}

// isConstant reports whether a constant has another value than on Linux.
func (l *library) isConstant(name string) bool {
	if d, ok := l.here.names[name]; ok && token.IsExported(name) {
		return d.kind == token.CONST
	}
	d, ok := l.linux.names[name]
	kind, _ := numbered(d)
	return ok && d.kind == token.CONST && (kind != "" || strings.HasPrefix(name, "O_"))
}
