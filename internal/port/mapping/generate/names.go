package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/mapping/facts"
)

// bridge is the source of a package: the Go files that describe it to Pulumi's bridge.
type bridge struct {
	// texts are the values of constants and variables, and results are what functions without parameters return.
	texts   map[string]string
	results map[string]ast.Expr
	files   []*ast.File
}

// naming says which names a package makes up.
type naming struct {
	// general is how the attribute name of a resource is made up: it is off unless the package asks for it. nil stands for the bridge's
	// usual way.
	general *mapping.Autoname
	// resources has attributes by resources.
	resources map[string]map[string]mapping.Autoname
	// lost counts the names of which the source does not say here whose they are.
	lost int
}

func bridgeOf(dir string) (*bridge, error) {
	listed, err := git(dir, nil, "ls-tree", "--name-only", "HEAD", "provider/")
	if err != nil {
		return nil, err
	}
	b := &bridge{texts: map[string]string{}, results: map[string]ast.Expr{}}
	for _, file := range strings.Fields(string(listed)) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := git(dir, nil, "show", "HEAD:"+file)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, parsed)
		ast.Inspect(parsed, b.declare)
	}
	return b, nil
}

// declare keeps what other places refer to.
func (b *bridge) declare(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				if text, ok := b.text(n.Values[i]); ok {
					b.texts[name.Name] = text
				}
			}
		}
	case *ast.FuncDecl:
		if n.Body == nil || len(n.Body.List) == 0 || n.Type.Params.NumFields() > 0 {
			break
		}
		if r, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			b.results[n.Name.Name] = r.Results[0]
		}
	}
	return true
}

// text returns the text that an expression stands for.
func (b *bridge) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, ok := b.texts[e.Name]
		return text, ok
	}
	return "", false
}

// naming returns what the source says of the names of resources.
func (b *bridge) naming(resources map[string]facts.Type) naming {
	of := naming{general: &mapping.Autoname{Off: true}, resources: map[string]map[string]mapping.Autoname{}}
	for _, f := range b.files {
		ast.Walk(visitor{b: b, of: &of, known: resources}, f)
	}
	return of
}

// visitor walks through the source. It knows the resource and the attribute around a place.
type visitor struct {
	b                   *bridge
	of                  *naming
	known               map[string]facts.Type
	resource, attribute string
	// called means that a place belongs to a function that is read again where it is called.
	called bool
}

func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		v.enter(n.Key)
	case *ast.AssignStmt:
		if at, ok := n.Lhs[0].(*ast.IndexExpr); ok {
			v.enter(at.Index)
		}
	case *ast.CallExpr:
		if called(n) == "SetAutonaming" && len(n.Args) == 2 {
			v.of.general = nil
			if a := v.b.autoname(n.Args[0], n.Args[1], nil); a != (mapping.Autoname{}) {
				v.of.general = &a
			}
			return nil
		}
		if len(n.Args) > 0 { // such as RenameResourceWithAlias
			if text, ok := v.b.text(n.Args[0]); ok && v.known[text].Token != "" {
				v.resource = text
			}
		}
		if result := v.b.results[called(n)]; result != nil && len(n.Args) == 0 {
			ast.Walk(v, result)
			return nil
		}
		property, a, ok := v.b.made(n)
		if !ok {
			return v
		}
		if v.attribute == "" {
			v.attribute = property
		}
		if v.resource != "" && v.attribute != "" {
			if v.of.resources[v.resource] == nil {
				v.of.resources[v.resource] = map[string]mapping.Autoname{}
			}
			v.of.resources[v.resource][v.attribute] = a
		} else if !v.called {
			v.of.lost++
		}
		return nil
	case *ast.FuncDecl:
		v.called = v.b.results[n.Name.Name] != nil
	}
	return v
}

// enter notes the resource or the attribute that a key names.
func (v *visitor) enter(key ast.Expr) {
	text, ok := v.b.text(key)
	switch {
	case ok && v.known[text].Token != "":
		v.resource, v.attribute = text, ""
	case ok:
		v.attribute = text
	}
}

func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// made returns how a call makes up a name, and the property that it is for, if the call says it.
func (b *bridge) made(c *ast.CallExpr) (property string, a mapping.Autoname, ok bool) {
	if len(c.Args) == 0 {
		return "", a, false
	}
	property, _ = b.text(c.Args[0])
	switch name := called(c); {
	case name == "AutoName" && len(c.Args) == 3:
		return property, b.autoname(c.Args[1], c.Args[2], nil), true
	case name == "AutoNameTransform" && len(c.Args) == 3:
		return property, b.autoname(c.Args[1], nil, c.Args[2]), true
	case name == "AutoNameWithCustomOptions" && len(c.Args) == 2:
		options, _ := c.Args[1].(*ast.CompositeLit)
		if options == nil {
			return "", a, false
		}
		fields := map[string]ast.Expr{}
		for _, element := range options.Elts {
			if field, is := element.(*ast.KeyValueExpr); is {
				if key, is := field.Key.(*ast.Ident); is {
					fields[key.Name] = field.Value
				}
			}
		}
		if fields["Separator"] == nil {
			fields["Separator"] = &ast.BasicLit{Kind: token.STRING, Value: `""`}
		}
		return property, b.autoname(fields["Maxlen"], fields["Separator"], fields["Transform"]), true
	}
	return "", a, false
}

// autoname returns what differs from names of at most 255 characters with a hyphen.
func (b *bridge) autoname(longest, separator, transform ast.Expr) (a mapping.Autoname) {
	if number, ok := longest.(*ast.BasicLit); ok && number.Value != "255" {
		a.MaxLength, _ = strconv.Atoi(number.Value)
	}
	if text, ok := b.text(separator); ok && text != "-" {
		a.Separator = &text
	}
	if transform != nil { // each of them makes small letters
		a.Lower = true
	}
	return a
}
