// Package prune takes out of the source of a provider for Terraform what the chosen types do not need: the places where the other
// types are registered, and the declarations that nothing uses then.
//
// It reads the source without its types. What it does not understand it keeps, so that a registration in an unknown form costs
// size, and nothing else.
package prune

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Package is a package of the provider's module, with the files that are built.
type Package struct {
	Path, Dir string
	Files     []string
}

// Found is what a provider registers.
type Found struct {
	// Names are the types of resources and data sources, sorted. Some need not exist.
	Names []string
	// Unread says that there are registrations whose type was not understood.
	Unread bool
}

// Check refuses patterns that are no names of types with * for any text.
func Check(patterns []string) error {
	for _, p := range patterns {
		if p == "" || strings.Trim(p, "abcdefghijklmnopqrstuvwxyz0123456789_-*") != "" {
			return fmt.Errorf("--only %q: name types as Terraform does, such as google_storage_bucket or google_storage_*", p)
		}
	}
	return nil
}

// Chosen reports whether one of the patterns matches the name of a type. The adapter for Terraform decides in the same way.
func Chosen(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// source is the source of a program.
type source struct {
	set   *token.FileSet
	files []*file
	// inits are the packages that have functions init.
	inits map[string]bool
	// decls are the declarations of packages by their names, methods those of types.
	decls, methods map[object][]*decl
	// nameOf returns the name of a package.
	nameOf func(path string) string
	// prefixes begin the names of types, with the underscore.
	prefixes []string
	chosen   func(name string) bool
	found    map[string]bool
	unread   bool
}

// object is a name that a package declares.
type object struct{ pkg, name string }

// file is a file of a program.
type file struct {
	pkg, path string
	text      []byte
	*ast.File
	// base is the position of the file's first byte.
	base token.Pos
	// imports are the paths of packages by their names in the file.
	imports map[string]string
	// whole says that the file keeps all its declarations.
	whole bool
	cuts  []span
	// cut are the nodes in cuts.
	cut   map[ast.Node]bool
	decls []*decl
}

// decl is a declaration that can be left out.
type decl struct {
	of   *file
	node ast.Node
	// constant says that it declares constants.
	constant bool
	span     span
	kept     bool
}

// span is a part of a file.
type span struct{ from, to token.Pos }

// Prune changes the files of a program's packages in place. nameOf returns the name of any package that the program imports, and
// program the name of the provider, for patterns that do not begin with it.
func Prune(packages []Package, nameOf func(path string) string, program string, patterns []string) (*Found, error) {
	s := &source{
		set: token.NewFileSet(), decls: map[object][]*decl{}, methods: map[object][]*decl{}, inits: map[string]bool{}, found: map[string]bool{},
		nameOf: nameOf, chosen: func(name string) bool { return Chosen(patterns, name) },
	}
	for _, p := range patterns {
		word, _, _ := strings.Cut(p, "_")
		if strings.Contains(word, "*") {
			word = program
		}
		s.prefixes = union(s.prefixes, word+"_")
	}
	for _, p := range packages {
		for _, name := range p.Files {
			if err := s.read(p.Path, filepath.Join(p.Dir, name)); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range s.files {
		s.cutRegistrations(f)
	}
	s.mark()
	for _, f := range s.files {
		if err := s.write(f); err != nil {
			return nil, err
		}
	}
	return &Found{Names: slices.Sorted(maps.Keys(s.found)), Unread: s.unread}, nil
}

// read parses a file.
func (s *source) read(pkg, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &file{pkg: pkg, path: name, text: text, File: parsed, base: parsed.FileStart, imports: map[string]string{}, cut: map[ast.Node]bool{}}
	f.whole = bytes.Contains(text, []byte("//go:linkname"))
	for _, spec := range parsed.Imports {
		f.whole = f.whole || spec.Name != nil && spec.Name.Name == "." || spec.Path.Value == `"C"`
		f.imports[s.localName(spec)] = importPath(spec)
	}
	for _, d := range parsed.Decls {
		s.index(f, d)
	}
	s.files = append(s.files, f)
	return nil
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
	return p
}

// localName returns the name by which a file calls a package that it imports.
func (s *source) localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return cmp.Or(s.nameOf(importPath(spec)), path.Base(importPath(spec)))
}

// index adds the declarations of a file that can be left out. Those of constants stay, because others count on their number.
func (s *source) index(f *file, d ast.Decl) {
	add := func(node ast.Node, doc *ast.CommentGroup, to map[object][]*decl, names ...string) *decl {
		one := &decl{of: f, node: node, span: span{node.Pos(), node.End()}}
		if doc != nil {
			one.span.from = doc.Pos()
		}
		f.decls = append(f.decls, one)
		for _, name := range names {
			to[object{f.pkg, name}] = append(to[object{f.pkg, name}], one)
		}
		return one
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		to, name := s.decls, d.Name.Name
		switch {
		case d.Recv != nil && len(d.Recv.List) == 1:
			to, name = s.methods, baseName(d.Recv.List[0].Type)
		case name == "init":
			s.inits[f.pkg] = true
		}
		add(d, d.Doc, to, name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			node, doc := ast.Node(spec), d.Doc
			var names []string
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = []string{spec.Name.Name}
				doc = cmp.Or(spec.Doc, doc)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
				doc = cmp.Or(spec.Doc, doc)
			default:
				continue // an import
			}
			if d.Lparen == token.NoPos {
				node = d
			} else if doc == d.Doc {
				doc = nil
			}
			add(node, doc, s.decls, names...).constant = d.Tok == token.CONST
		}
	}
}

// baseName returns the name of a receiver's type.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.ParenExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// mark keeps what the program needs: functions main and init, variables that functions of the module make, constants, and what
// those use. A name is used wherever it appears, whatever it means there.
func (s *source) mark() {
	var queue []*decl
	keep := func(all ...*decl) {
		for _, d := range all {
			if !d.kept {
				d.kept = true
				queue = append(queue, d)
			}
		}
	}
	for _, f := range s.files {
		for _, d := range f.decls {
			if f.whole || s.isRoot(d) {
				keep(d)
			}
		}
	}
	for len(queue) > 0 {
		d := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		d.of.walk(d.node, func(n ast.Node) {
			switch n.(type) {
			case *ast.SelectorExpr, *ast.Ident:
				named := d.of.objectOf(n.(ast.Expr))
				if named.name != "_" && named.name != "init" && named.name != "main" {
					keep(s.decls[named]...)
					keep(s.methods[named]...)
				}
			}
		})
	}
}

// walk visits the nodes of a declaration that stay.
func (f *file) walk(root ast.Node, visit func(ast.Node)) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || f.cut[n] {
			return false
		}
		visit(n)
		return true
	})
}

// isRoot reports whether a declaration does something though nobody names it.
func (s *source) isRoot(d *decl) bool {
	if n, ok := d.node.(*ast.FuncDecl); ok {
		return n.Body == nil || n.Recv == nil && (n.Name.Name == "init" || n.Name.Name == "main" || n.Name.Name == "_")
	}
	spec := valueOf(d.node)
	return spec != nil && (d.constant || slices.ContainsFunc(spec.Values, func(e ast.Expr) bool { return s.acts(d.of, e) }))
}

// acts reports whether an expression calls a function of the provider's module, or one that is not known.
func (s *source) acts(f *file, e ast.Expr) (acts bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			switch called := n.Fun.(type) {
			case *ast.ParenExpr, *ast.ArrayType, *ast.MapType, *ast.InterfaceType: // a conversion
			case *ast.SelectorExpr:
				x, named := called.X.(*ast.Ident)
				acts = acts || !named || f.imports[x.Name] == "" || s.isCallable(f.objectOf(called))
			case *ast.Ident, *ast.IndexExpr, *ast.IndexListExpr:
				acts = acts || s.isCallable(f.objectOf(called))
			default:
				acts = true
			}
		}
		return !acts
	})
	return acts
}

// isCallable reports whether a name is a function or a variable of the module.
func (s *source) isCallable(named object) bool {
	return slices.ContainsFunc(s.decls[named], func(d *decl) bool {
		_, function := d.node.(*ast.FuncDecl)
		return function || valueOf(d.node) != nil
	})
}

// valueOf returns the specification of a variable or constant, nil for other declarations.
func valueOf(node ast.Node) *ast.ValueSpec {
	if g, ok := node.(*ast.GenDecl); ok {
		node = g.Specs[0]
	}
	spec, _ := node.(*ast.ValueSpec)
	return spec
}

// objectOf returns what a name, or one in another package, may stand for.
func (f *file) objectOf(e ast.Expr) object {
	switch e := e.(type) {
	case *ast.Ident:
		return object{f.pkg, e.Name}
	case *ast.IndexExpr:
		return f.objectOf(e.X)
	case *ast.IndexListExpr:
		return f.objectOf(e.X)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return object{f.imports[x.Name], e.Sel.Name}
		}
	}
	return object{}
}

// write writes what is left of a file.
func (s *source) write(f *file) error {
	removed := slices.Clone(f.cuts)
	for _, d := range f.decls {
		if !d.kept {
			removed = append(removed, d.span)
		}
	}
	if len(removed) == 0 {
		return nil
	}
	used := s.usedImports(f)
	blank := map[token.Pos]bool{}
	for _, spec := range f.Imports {
		name := s.localName(spec)
		if name == "_" || name == "." || name == "C" || used[name] {
			continue
		}
		if s.inits[importPath(spec)] { // what it registers is still needed
			removed = append(removed, span{spec.Pos(), spec.Path.Pos()})
			blank[spec.Path.Pos()] = true
			continue
		}
		removed = append(removed, f.importSpan(spec))
	}
	slices.SortFunc(removed, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var left bytes.Buffer
	at := f.base
	for _, r := range removed {
		if r.to <= at && r.from < at { // in one that is removed
			continue
		}
		left.Write(f.text[at-f.base : r.from-f.base])
		if at = r.to; blank[at] {
			left.WriteString("_ ")
		}
	}
	left.Write(f.text[at-f.base:])
	return os.WriteFile(f.path, left.Bytes(), 0o644)
}

// usedImports returns the names of imports that what is left of a file uses.
func (s *source) usedImports(f *file) map[string]bool {
	used, other := map[string]bool{}, false
	visit := func(node func(ast.Node)) {
		for _, d := range f.decls {
			if d.kept {
				f.walk(d.node, node)
			}
		}
	}
	qualifiers := map[*ast.Ident]bool{}
	visit(func(n ast.Node) {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && f.imports[x.Name] != "" {
				qualifiers[x], used[x.Name] = true, true
			}
		}
	})
	visit(func(n ast.Node) {
		if x, ok := n.(*ast.Ident); ok {
			other = other || used[x.Name] && !qualifiers[x]
		}
	})
	if !other {
		return used
	}
	// A variable may have the name of an import.
	uses := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: importer(s.nameOf), Error: func(error) {}}
	_, _ = config.Check(f.pkg, s.set, []*ast.File{f.File}, &types.Info{Uses: uses}) // which cannot succeed without the imports
	clear(used)
	for x := range qualifiers {
		if _, ok := uses[x].(*types.PkgName); ok {
			used[x.Name] = true
		}
	}
	return used
}

// importer imports packages of which only the names are known.
type importer func(path string) string

func (i importer) Import(of string) (*types.Package, error) {
	p := types.NewPackage(of, cmp.Or(i(of), path.Base(of)))
	p.MarkComplete()
	return p, nil
}

// importSpan returns the part of a file with an import.
func (f *file) importSpan(spec *ast.ImportSpec) span {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Lparen == token.NoPos && g.Pos() <= spec.Pos() && spec.End() <= g.End() {
			return span{g.Pos(), g.End()}
		}
	}
	return span{spec.Pos(), spec.End()}
}
