package prune

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cutRegistrations cuts what registers types that are not chosen, in three forms: elements of maps from the names of types, elements
// of lists of constructors or values, and calls with the name of a type in functions init.
func (s *source) cutRegistrations(f *file) {
	for _, d := range f.Decls {
		function, _ := d.(*ast.FuncDecl)
		if function != nil && function.Recv == nil && function.Name.Name == "init" && function.Body != nil {
			s.cutCalls(f, function.Body.List)
			continue
		}
		variables := localVariables(d)
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				s.cutElements(f, n, variables)
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "append" && n.Ellipsis == token.NoPos && len(n.Args) > 1 && function != nil && s.returnsTypes(f, function) {
					s.cutList(f, n.Args[1:], n.Rparen, variables)
				}
			}
			return true
		})
	}
}

// localVariables returns the names of a function's variables. A variable that nothing uses any more is an error.
func localVariables(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	function, ok := d.(*ast.FuncDecl)
	if !ok || function.Body == nil {
		return names
	}
	ast.Inspect(function.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if x, ok := e.(*ast.Ident); ok {
						names[x.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if x, ok := e.(*ast.Ident); ok {
					names[x.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, x := range n.Names {
				names[x.Name] = true
			}
		}
		return true
	})
	return names
}

// uses reports whether an expression has one of some names.
func uses(e ast.Expr, names map[string]bool) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		x, ok := n.(*ast.Ident)
		found = found || ok && names[x.Name]
		return !found
	})
	return found
}

// cutCalls cuts calls of a function init, and all of one that makes variables for a call. Of other statements it cuts none. Sweepers,
// which delete what tests have left, are for no type.
func (s *source) cutCalls(f *file, statements []ast.Stmt) {
	var units [][]ast.Stmt
	whole := false
	for i, statement := range statements {
		switch statement := statement.(type) {
		case *ast.ExprStmt:
			units = append(units, statements[i:i+1])
		case *ast.AssignStmt:
			if statement.Tok != token.DEFINE {
				return
			}
			whole = true
		default:
			return
		}
	}
	if whole {
		units = [][]ast.Stmt{statements}
	}
	for _, unit := range units {
		s.cutUnit(f, unit)
	}
}

// cutUnit cuts statements that register one type that is not chosen, or only sweepers.
func (s *source) cutUnit(f *file, unit []ast.Stmt) {
	names, sweeps := map[string]bool{}, true
	for _, statement := range unit {
		if e, ok := statement.(*ast.ExprStmt); ok {
			call, ok := e.X.(*ast.CallExpr)
			sweeps = sweeps && ok && strings.HasPrefix(f.objectOf(call.Fun).name, "AddTestSweepers")
		}
		ast.Inspect(statement, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if name, ok := s.text(f, e); ok && s.isType(name) {
					names[name] = true
				}
			}
			_, function := n.(*ast.FuncLit)
			return !function
		})
	}
	cut := sweeps
	for name := range names {
		cut = !s.register(name) && len(names) == 1 || cut
	}
	if cut {
		for _, statement := range unit {
			s.remove(f, statement, statement.End())
		}
	}
}

// cutElements cuts elements of a map from names of types, or of a list of types.
func (s *source) cutElements(f *file, literal *ast.CompositeLit, variables map[string]bool) {
	switch t := literal.Type.(type) {
	case *ast.MapType:
		if key, ok := t.Key.(*ast.Ident); !ok || key.Name != "string" || !s.holdsType(f, t.Value, 0) {
			return
		}
		var ours bool
		var others []string // of a provider whose types begin with several words
		for i, e := range literal.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return
			}
			name, ok := s.text(f, pair.Key)
			if !ok {
				s.unread = true
				continue
			}
			if !s.isType(name) {
				others = append(others, name)
				continue
			}
			ours = true
			if !s.register(name) && !uses(pair.Value, variables) {
				s.remove(f, e, next(literal.Elts, i, literal.Rbrace))
			}
		}
		if ours {
			for _, name := range others {
				s.found[name] = true
			}
		}
	case *ast.ArrayType:
		if t.Len == nil && s.holdsType(f, t.Elt, 0) {
			s.cutList(f, literal.Elts, literal.Rbrace, variables)
		}
	}
}

// cutList cuts elements of a list that stand for one type. end is the end of the list.
func (s *source) cutList(f *file, elements []ast.Expr, end token.Pos, variables map[string]bool) {
	for i, e := range elements {
		names := s.namesOf(f, e, 0)
		if len(names) != 1 {
			s.unread = s.unread || s.makes(f, e) && !uses(e, variables) // else it is one of a loop over others
			continue
		}
		chosen := false
		for _, name := range s.wholeNames(names[0]) {
			chosen = s.register(name) || chosen
		}
		if !chosen && !uses(e, variables) {
			s.remove(f, e, next(elements, i, end))
		}
	}
}

// makes reports whether an element of a list is a function of the module, or what one returns.
func (s *source) makes(f *file, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncLit:
		return true
	case *ast.CallExpr:
		return s.makes(f, e.Fun)
	}
	return slices.ContainsFunc(s.decls[f.objectOf(e)], func(d *decl) bool { _, ok := d.node.(*ast.FuncDecl); return ok })
}

func next(all []ast.Expr, i int, end token.Pos) token.Pos {
	if i+1 < len(all) {
		return all[i+1].Pos()
	}
	return end
}

func (s *source) remove(f *file, n ast.Node, to token.Pos) {
	f.cut[n] = true
	f.cuts = append(f.cuts, span{n.Pos(), to})
}

// register records the name of a type, and reports whether it is chosen.
func (s *source) register(name string) bool {
	s.found[name] = true
	return s.chosen(name)
}

var typeName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)+$`)

// isType reports whether a text looks like the name of a type of this provider.
func (s *source) isType(text string) bool {
	return typeName.MatchString(text) && slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// providerName stands for the provider's name in the name of a type.
const providerName = "\x00"

// wholeNames returns the names that the name of a type may mean, which may lack the provider's.
func (s *source) wholeNames(name string) (all []string) {
	if s.isType(name) {
		return []string{name}
	}
	for _, prefix := range s.prefixes {
		if rest, ok := strings.CutPrefix(name, providerName); ok {
			all = append(all, strings.TrimSuffix(prefix, "_")+rest)
		} else {
			all = append(all, prefix+strings.TrimPrefix(name, "_"))
		}
	}
	return all
}

// typeKinds are the names of the interfaces and structures that stand for a type: of the SDKs, and of providers that wrap them.
var typeKinds = regexp.MustCompile(`(Resource|DataSource|Action)(WithConfigure)?$`)

// maxDepth is the number of functions or structures in one another in which a type is looked for.
const maxDepth = 3

// holdsType reports whether a value of a type holds a resource or data source, or makes one.
func (s *source) holdsType(f *file, t ast.Expr, depth int) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.holdsType(f, t.X, depth)
	case *ast.FuncType:
		return t.Results != nil && len(t.Results.List) > 0 && s.holdsType(f, t.Results.List[0].Type, depth)
	case *ast.SelectorExpr:
		return typeKinds.MatchString(t.Sel.Name) || s.hasType(f, t, depth)
	case *ast.Ident:
		return typeKinds.MatchString(t.Name) || s.hasType(f, t, depth)
	}
	return false
}

// hasType reports whether a structure of the module has a field that holds a resource.
func (s *source) hasType(f *file, named ast.Expr, depth int) bool {
	if depth == maxDepth {
		return false
	}
	for _, d := range s.decls[f.objectOf(named)] {
		of, ok := structOf(d.node)
		if ok && slices.ContainsFunc(of.Fields.List, func(field *ast.Field) bool { return s.holdsType(d.of, field.Type, depth+1) }) {
			return true
		}
	}
	return false
}

func structOf(node ast.Node) (*ast.StructType, bool) {
	if g, ok := node.(*ast.GenDecl); ok {
		node = g.Specs[0]
	}
	spec, ok := node.(*ast.TypeSpec)
	if !ok {
		return nil, false
	}
	of, ok := spec.Type.(*ast.StructType)
	return of, ok
}

// returnsTypes reports whether a function returns a list of types.
func (s *source) returnsTypes(f *file, function *ast.FuncDecl) bool {
	if function.Type.Results == nil {
		return false
	}
	return slices.ContainsFunc(function.Type.Results.List, func(result *ast.Field) bool {
		list, ok := result.Type.(*ast.ArrayType)
		return ok && list.Len == nil && s.holdsType(f, list.Elt, 0)
	})
}

// namesOf returns the names of the types that an element of a list may stand for: a value of a type, or a function that makes one.
func (s *source) namesOf(f *file, e ast.Expr, depth int) []string {
	var names []string
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return s.namesOf(f, e.X, depth)
	case *ast.CompositeLit:
		if e.Type != nil {
			names = s.namesOfType(f.objectOf(e.Type))
		}
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if name, ok := s.text(f, pair.Value); ok && s.isType(name) {
					names = union(names, name)
				}
			}
		}
	case *ast.FuncLit:
		return s.namesMade(f, e.Body, depth)
	case *ast.CallExpr:
		if t, ok := newOf(e); ok {
			return s.namesOfType(f.objectOf(t))
		}
		if names = s.namesOf(f, e.Fun, depth); len(names) == 0 { // a function that wraps others
			for _, argument := range e.Args {
				names = union(names, s.namesOf(f, argument, depth)...)
			}
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
		for _, d := range s.decls[f.objectOf(e)] {
			if function, ok := d.node.(*ast.FuncDecl); ok && function.Body != nil && depth < maxDepth {
				names = union(names, s.namesMade(d.of, function.Body, depth+1)...)
			}
		}
	}
	return names
}

// newOf returns the type of which a call of Go's new makes a value.
func newOf(call *ast.CallExpr) (ast.Expr, bool) {
	if called, ok := call.Fun.(*ast.Ident); ok && called.Name == "new" && len(call.Args) == 1 {
		return call.Args[0], true
	}
	return nil, false
}

// union appends each of more that is not yet among the names.
func union(names []string, more ...string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// namesMade returns the names of the types of which a function makes values, or of those that functions make whose results it returns.
func (s *source) namesMade(f *file, body *ast.BlockStmt, depth int) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if n.Type != nil {
				names = union(names, s.namesOfType(f.objectOf(n.Type))...)
			}
		case *ast.CallExpr:
			if t, ok := newOf(n); ok {
				names = union(names, s.namesOfType(f.objectOf(t))...)
			}
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if call, ok := result.(*ast.CallExpr); ok {
					names = union(names, s.namesOf(f, call, depth)...)
				}
			}
		}
		return true
	})
	return names
}

// namesOfType returns the names that methods of a type give it.
func (s *source) namesOfType(named object) (names []string) {
	for _, d := range s.methods[named] {
		method := d.node.(*ast.FuncDecl)
		if method.Body == nil || method.Name.Name != "Metadata" && method.Name.Name != "ResourceType" {
			continue
		}
		ast.Inspect(method.Body, func(n ast.Node) bool {
			var value ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if selector, ok := to.(*ast.SelectorExpr); ok && selector.Sel.Name == "TypeName" && len(n.Lhs) == len(n.Rhs) {
						value = n.Rhs[i]
					}
				}
			case *ast.ReturnStmt:
				if method.Name.Name == "ResourceType" && len(n.Results) == 1 {
					value = n.Results[0]
				}
			}
			if value != nil {
				name, ok := s.text(d.of, value)
				if !ok {
					name = "" // which makes the type one of several
				}
				names = union(names, name)
			}
			return true
		})
	}
	if slices.Contains(names, "") {
		return nil
	}
	return names
}

// text returns the text that an expression is: constants, and the name of the provider that the SDK passes on.
func (s *source) text(f *file, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return s.text(f, e.X)
	case *ast.BinaryExpr:
		left, ok := s.text(f, e.X)
		right, both := s.text(f, e.Y)
		return left + right, e.Op == token.ADD && ok && both
	case *ast.CallExpr: // fmt.Sprintf("%s_thing", request.ProviderTypeName)
		if len(e.Args) != 2 || f.objectOf(e.Fun) != (object{"fmt", "Sprintf"}) {
			return "", false
		}
		format, ok := s.text(f, e.Args[0])
		argument, both := s.text(f, e.Args[1])
		rest, begins := strings.CutPrefix(format, "%s")
		return argument + rest, ok && both && begins && !strings.Contains(rest, "%")
	case *ast.SelectorExpr:
		if e.Sel.Name == "ProviderTypeName" {
			return providerName, true
		}
		return s.constant(f.objectOf(e))
	case *ast.Ident:
		return s.constant(f.objectOf(e))
	}
	return "", false
}

// constant returns the text of a constant of the module.
func (s *source) constant(named object) (string, bool) {
	if all := s.decls[named]; len(all) == 1 {
		if spec := valueOf(all[0].node); spec != nil && len(spec.Names) == len(spec.Values) && all[0].constant {
			i := slices.IndexFunc(spec.Names, func(x *ast.Ident) bool { return x.Name == named.name })
			return s.text(all[0].of, spec.Values[i])
		}
	}
	return "", false
}
