package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// yamlProgram is a program in YAML, as JSON has it.
type yamlProgram map[string]any

// lock is the file of a package, in sdks.
type lock struct {
	PackageDeclarationVersion int               `json:"packageDeclarationVersion"`
	Name                      string            `json:"name"`
	Version                   string            `json:"version,omitempty"`
	Parameterization          map[string]string `json:"parameterization,omitempty"`
	Extension                 map[string]string `json:"extension,omitempty"`
}

// inexpressible says that a program has something that YAML has no words for.
type inexpressible struct{ what string }

func (i inexpressible) Error() string { return "Pulumi YAML has no " + i.what }

// translator writes a program of Pulumi's conformance tests, which are in PCL, as one in YAML.
type translator struct {
	program   yamlProgram
	locks     map[string]lock
	variables map[string]any
}

// translate returns the program of files in PCL. The error is [inexpressible] if YAML cannot say it.
func translate(files map[string][]byte) (p yamlProgram, locks map[string]lock, err error) {
	t := translator{program: yamlProgram{}, locks: map[string]lock{}, variables: map[string]any{}}
	defer func() {
		if r := recover(); r != nil {
			what, ok := r.(inexpressible)
			if !ok {
				panic(r)
			}
			err = what
		}
	}()
	for name, text := range files {
		file, ds := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		if ds.HasErrors() {
			return nil, nil, ds
		}
		t.body(file.Body.(*hclsyntax.Body))
	}
	if len(t.variables) > 0 {
		t.program["variables"] = t.variables
	}
	return t.program, t.locks, nil
}

func (t *translator) section(name string) map[string]any {
	m, ok := t.program[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		t.program[name] = m
	}
	return m
}

func (t *translator) body(b *hclsyntax.Body) {
	for name, a := range b.Attributes {
		t.variables[name] = t.value(a.Expr)
	}
	for _, block := range b.Blocks {
		switch block.Type {
		case "output":
			name := block.Labels[0]
			if a := block.Body.Attributes["__logicalName"]; a != nil {
				name = fmt.Sprint(constant(a.Expr))
			}
			t.section("outputs")[name] = t.value(block.Body.Attributes["value"].Expr)
		case "config":
			t.section("config")[block.Labels[0]] = t.config(block)
		case "resource", "read":
			if len(block.Labels) != 2 {
				panic(inexpressible{strings.Join(block.Labels, " ")})
			}
			t.section("resources")[block.Labels[0]] = t.resource(block)
		case "package":
			t.lock(block)
		case "pulumi":
			t.program["pulumi"] = map[string]any{"requiredVersion": t.value(block.Body.Attributes["requiredVersionRange"].Expr)}
		default:
			panic(inexpressible{"block " + block.Type})
		}
	}
}

func constant(e hclsyntax.Expression) any {
	v, ds := e.Value(nil)
	if ds.HasErrors() {
		panic(inexpressible{"computed default or version"})
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func (t *translator) lock(block *hclsyntax.Block) {
	text := func(b *hclsyntax.Body, name string) string {
		if a := b.Attributes[name]; a != nil {
			return fmt.Sprint(constant(a.Expr))
		}
		return ""
	}
	l := lock{PackageDeclarationVersion: 1, Name: text(block.Body, "baseProviderName"), Version: text(block.Body, "baseProviderVersion")}
	for _, inner := range block.Body.Blocks {
		by := map[string]string{"name": text(inner.Body, "name"), "version": text(inner.Body, "version"), "value": text(inner.Body, "value")}
		switch inner.Type {
		case "parameterization":
			if l.Parameterization = by; len(block.Labels) == 0 {
				l.Parameterization, l.Extension = nil, by // it extends the provider
			}
		default:
			panic(inexpressible{"block " + inner.Type})
		}
	}
	by := l.Parameterization
	if by == nil {
		by = l.Extension
	}
	t.locks[by["name"]] = l
}

func (t *translator) config(block *hclsyntax.Block) map[string]any {
	out := map[string]any{}
	if len(block.Labels) > 1 {
		file, ds := hclsyntax.ParseExpression([]byte(block.Labels[1]), "type", hcl.InitialPos)
		if ds.HasErrors() {
			panic(inexpressible{"type " + block.Labels[1]})
		}
		maps.Copy(out, configType(file))
	}
	for name, a := range block.Body.Attributes {
		switch name {
		case "default", "secret":
			out[name] = constant(a.Expr)
		case "description":
		case "__logicalName":
			out["name"] = constant(a.Expr)
		default:
			panic(inexpressible{name + " of configuration"})
		}
	}
	return out
}

func configType(e hclsyntax.Expression) map[string]any {
	names := map[string]string{"string": "string", "int": "integer", "number": "number", "bool": "boolean"}
	if word := hcl.ExprAsKeyword(e); word != "" {
		if name, ok := names[word]; ok {
			return map[string]any{"type": name}
		}
		return map[string]any{}
	}
	call, ok := e.(*hclsyntax.FunctionCallExpr)
	switch {
	case ok && call.Name == "list":
		return map[string]any{"type": "array", "items": configType(call.Args[0])}
	case ok && (call.Name == "map" || call.Name == "object"):
		return map[string]any{"type": "object"}
	}
	panic(inexpressible{"type of configuration such as this"})
}

// pathOptions are the options that name properties.
var pathOptions = map[string]bool{"ignoreChanges": true, "replaceOnChanges": true, "hideDiffs": true, "additionalSecretOutputs": true}

func (t *translator) resource(block *hclsyntax.Block) map[string]any {
	out, properties := map[string]any{"type": block.Labels[1]}, map[string]any{}
	for name, a := range block.Body.Attributes {
		if name == "__logicalName" {
			out["name"] = t.value(a.Expr)
		} else {
			properties[name] = t.value(a.Expr)
		}
	}
	if block.Type == "read" {
		get := map[string]any{"id": properties["id"]}
		delete(properties, "id")
		if len(properties) > 0 {
			get["state"] = properties
		}
		out["get"] = get
	} else if len(properties) > 0 {
		out["properties"] = properties
	}
	for _, inner := range block.Body.Blocks {
		if inner.Type != "options" {
			panic(inexpressible{"block " + inner.Type})
		}
		options := map[string]any{}
		for name, a := range inner.Body.Attributes {
			switch {
			case name == "range", name == "hooks":
				panic(inexpressible{"option " + name})
			case pathOptions[name]:
				options[name] = t.paths(a.Expr)
			default:
				options[name] = t.value(a.Expr)
			}
		}
		out["options"] = options
	}
	return out
}

func (t *translator) paths(e hclsyntax.Expression) []string {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		panic(inexpressible{"computed list of properties"})
	}
	var out []string
	for _, e := range list.Exprs {
		traversal, ok := e.(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			panic(inexpressible{"computed property"})
		}
		out = append(out, path(traversal.Traversal))
	}
	return out
}

// path writes a traversal as expressions and paths of properties have it.
func path(steps hcl.Traversal) string {
	var b strings.Builder
	for i, step := range steps {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String {
				key := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Key.AsString())
				fmt.Fprintf(&b, `["%s"]`, key)
			} else {
				fmt.Fprintf(&b, "[%s]", s.Key.AsBigFloat().String())
			}
		default:
			panic(inexpressible{"splat"})
		}
	}
	return b.String()
}

// written is text in which nothing is an expression.
func written(text string) string {
	return strings.NewReplacer("$$", "$$$$", "${", "$${").Replace(text)
}

func reference(path string) string { return "${" + path + "}" }

// named gives a value a name of its own.
func (t *translator) named(v any) string {
	name := fmt.Sprintf("step%d", len(t.variables)+1)
	t.variables[name] = v
	return name
}

func (t *translator) value(e hclsyntax.Expression) any {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr, *hclsyntax.UnaryOpExpr:
		v := constant(e)
		if text, ok := v.(string); ok {
			return written(text)
		}
		return v
	case *hclsyntax.ParenthesesExpr:
		return t.value(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return t.value(e.Wrapped)
	case *hclsyntax.TemplateExpr:
		var b strings.Builder
		for _, part := range e.Parts {
			switch v := t.value(part).(type) {
			case string:
				b.WriteString(v)
			case float64, bool:
				fmt.Fprint(&b, v)
			default:
				b.WriteString(reference(t.named(v)))
			}
		}
		return b.String()
	case *hclsyntax.ScopeTraversalExpr:
		return reference(path(e.Traversal))
	case *hclsyntax.RelativeTraversalExpr:
		return t.within(t.value(e.Source), e.Traversal)
	case *hclsyntax.IndexExpr:
		key := t.value(e.Key)
		source := t.value(e.Collection)
		if text, ok := key.(string); ok && !strings.Contains(text, "$") {
			return t.within(source, hcl.Traversal{hcl.TraverseIndex{Key: cty.StringVal(text)}})
		}
		return map[string]any{"fn::select": []any{key, source}}
	case *hclsyntax.TupleConsExpr:
		list := []any{}
		for _, x := range e.Exprs {
			list = append(list, t.value(x))
		}
		return list
	case *hclsyntax.ObjectConsExpr:
		m := map[string]any{}
		for _, item := range e.Items {
			key := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
			name := hcl.ExprAsKeyword(key.Wrapped)
			if name == "" || key.ForceNonLiteral {
				name = fmt.Sprint(t.value(key.Wrapped))
			}
			m[name] = t.value(item.ValueExpr)
		}
		return m
	case *hclsyntax.FunctionCallExpr:
		return t.call(e)
	}
	panic(inexpressible{strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", e), "*hclsyntax."), "Expr")})
}

// within is a part of a value.
func (t *translator) within(v any, steps hcl.Traversal) any {
	if text, ok := v.(string); ok && strings.HasPrefix(text, "${") && strings.Count(text, "${") == 1 && strings.HasSuffix(text, "}") {
		next := path(steps)
		if _, isAttr := steps[0].(hcl.TraverseAttr); isAttr {
			next = "." + next
		}
		return strings.TrimSuffix(text, "}") + next + "}"
	}
	return t.within(reference(t.named(v)), steps)
}

// functions are those with one argument, by their names in PCL.
var functions = map[string]string{
	"toBase64": "fn::toBase64", "fromBase64": "fn::fromBase64", "toJSON": "fn::toJSON", "secret": "fn::secret",
	"unsecret": "fn::unsecret", "length": "fn::length", "singleOrNone": "fn::singleOrNone", "readFile": "fn::readFile",
	"filebase64": "fn::filebase64", "filebase64sha256": "fn::filebase64sha256", "sha1": "fn::sha1",
	"fileAsset": "fn::fileAsset", "stringAsset": "fn::stringAsset", "remoteAsset": "fn::remoteAsset",
	"fileArchive": "fn::fileArchive", "remoteArchive": "fn::remoteArchive", "assetArchive": "fn::assetArchive",
	"pulumiResourceName": "fn::pulumiResourceName", "pulumiResourceType": "fn::pulumiResourceType",
}

var deployment = map[string]string{
	"cwd": "cwd", "rootDirectory": "rootDirectory", "stack": "stack", "project": "project", "organization": "organization",
}

func (t *translator) call(e *hclsyntax.FunctionCallExpr) any {
	if e.Name == "invoke" {
		return t.invoke(e)
	}
	args := make([]any, len(e.Args))
	for i, x := range e.Args {
		args[i] = t.value(x)
	}
	switch name := functions[e.Name]; {
	case name != "" && len(args) == 1:
		return map[string]any{name: args[0]}
	case deployment[e.Name] != "":
		return reference("pulumi." + deployment[e.Name])
	case e.Name == "element":
		return map[string]any{"fn::select": []any{args[1], args[0]}}
	case e.Name == "join", e.Name == "split":
		return map[string]any{"fn::" + e.Name: args}
	case e.Name == "getOutput":
		return t.within(t.within(args[0], hcl.Traversal{hcl.TraverseAttr{Name: "outputs"}}), hcl.Traversal{hcl.TraverseIndex{Key: cty.StringVal(args[1].(string))}})
	}
	panic(inexpressible{"function " + e.Name})
}

func (t *translator) invoke(e *hclsyntax.FunctionCallExpr) any {
	call := map[string]any{"function": constant(e.Args[0])}
	for i, x := range e.Args[1:] {
		if _, ok := x.(*hclsyntax.ObjectConsExpr); !ok || i > 1 {
			panic(inexpressible{"functions with arguments that have no names"})
		}
	}
	if len(e.Args) > 1 {
		call["arguments"] = t.value(e.Args[1])
	}
	if len(e.Args) > 2 {
		call["options"] = t.value(e.Args[2])
	}
	return map[string]any{"fn::invoke": call}
}
