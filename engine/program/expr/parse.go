package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"go.yaml.in/yaml/v3"
)

const (
	// textPerStep is how much of a text is read in a step, in bytes.
	textPerStep = 64
	// nodeBytes is the memory of an expression, with the structures that keep it.
	nodeBytes = 128
)

// Parse reads an expression. It reports mistakes; the part at fault is [*Invalid].
func Parse(r *source.Report, n *yaml.Node) Expr {
	n = source.Resolve(n)
	if !r.Spend(n, 1+len(n.Value)/textPerStep, nodeBytes) {
		return invalid(n)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := &List{written: written{n}}
		for _, e := range n.Content {
			list.Elements = append(list.Elements, Parse(r, e))
		}
		return list
	case yaml.MappingNode:
		return parseMapping(r, n)
	}
	v, ok := r.Scalar(n)
	if !ok {
		return invalid(n)
	}
	if text, ok := v.AsString(); ok {
		return parseString(r, n, text)
	}
	return &Literal{written{n}, v}
}

// ParseObject reads a mapping whose keys are names: the properties of a resource.
func ParseObject(r *source.Report, n *yaml.Node, what string) *Object {
	o := &Object{written: written{source.Resolve(n)}}
	for _, f := range r.Fields(n, what) {
		if IsFunction(f.Name) {
			r.Errorf(f.Key, "%s cannot be the result of a function: write its keys out", what)
			continue
		}
		key := &Literal{written{f.Key}, property.String(f.Name)}
		o.Entries = append(o.Entries, Entry{Key: key, Value: Parse(r, f.Value)})
	}
	return o.index()
}

func invalid(n *yaml.Node) Expr { return &Invalid{written{n}} }

func parseString(r *source.Report, n *yaml.Node, text string) Expr {
	parts, err := parseText(text)
	if err != nil {
		start := strings.LastIndex(text[:min(err.offset+len("${"), len(text))], "${")
		at := r.File.Within(n, strings.Count(text[:start], "${"), utf8.RuneCountInString(text[start:err.offset]))
		r.Add(r.File.Errorf(at, "%s", err.message))
		return invalid(n)
	}
	for _, p := range parts {
		if p.Access != nil {
			p.Access.node = n
		}
	}
	switch {
	case len(parts) == 1 && parts[0].Access == nil:
		return &Literal{written{n}, property.String(parts[0].Text)}
	case len(parts) == 1 && parts[0].Text == "":
		return parts[0].Access
	}
	return &Text{written{n}, parts}
}

func parseMapping(r *source.Report, n *yaml.Node) Expr {
	fields := r.Fields(n, "an object")
	for _, f := range fields {
		if !IsFunction(f.Name) {
			continue
		}
		if len(fields) > 1 {
			r.Errorf(f.Key, "%s must stand in a mapping of its own", f.Name)
			return invalid(n)
		}
		return parseFunction(r, n, f)
	}
	o := &Object{written: written{n}}
	for _, f := range fields {
		o.Entries = append(o.Entries, Entry{Key: parseString(r, f.Key, f.Name), Value: Parse(r, f.Value)})
	}
	return o.index()
}

// shortInvoke is a provider's function that is called by its own name.
var shortInvoke = lazyregexp.Regexp{Syntax: `^[^:]+:[^:]+(:[^:]+)?$`}

func parseFunction(r *source.Report, n *yaml.Node, f source.Field) Expr {
	if strings.EqualFold(f.Name, invokeName) {
		return parseInvoke(r, n, f)
	}
	function, ok := lookup(f.Name)
	if !ok {
		if token := f.Name[len(functionPrefix):]; shortInvoke.Get().MatchString(token) {
			return &Invoke{written: written{n}, Token: token, TokenNode: f.Key, Args: parseArgs(r, f.Value)}
		}
		r.Add(r.File.Errorf(source.Of(f.Key), "unknown function %q%s", f.Name, source.DidYouMean(f.Name, functionNames())).
			With("a provider's function is called as fn::<package>:<module>:<function>"))
		return invalid(n)
	}
	call := &Call{written: written{n}, Function: function}
	names := signatures[function].args
	if names == nil {
		call.Args = []Expr{Parse(r, f.Value)}
		if _, computed := call.Args[0].(*Access); function == Secret && !computed {
			r.File.Hide(f.Key)
		}
		return call
	}
	if f.Value.Kind != yaml.SequenceNode || len(f.Value.Content) != len(names) {
		r.Errorf(f.Value, "%s takes a list of %d: [%s]", function, len(names), strings.Join(names, ", "))
		return invalid(n)
	}
	for _, e := range f.Value.Content {
		call.Args = append(call.Args, Parse(r, e))
	}
	return call
}

func parseArgs(r *source.Report, n *yaml.Node) *Object {
	if source.IsNull(n) {
		return &Object{written: written{n}}
	}
	if n.Kind != yaml.MappingNode {
		r.Errorf(n, "the arguments of a function are a mapping of names to values, not %s", source.Describe(n))
		return &Object{written: written{n}}
	}
	return ParseObject(r, n, "the arguments of a function")
}

var invokeKeys = []string{"function", "arguments", "options", "return"}

func parseInvoke(r *source.Report, n *yaml.Node, f source.Field) Expr {
	call := &Invoke{written: written{n}, TokenNode: f.Key, Args: &Object{written: written{f.Key}}}
	complete := true
	for _, g := range r.KnownFields(f.Value, "fn::invoke", invokeKeys) {
		switch g.Name {
		case "function":
			call.Token, complete = LiteralText(r, g.Value, "the function's name")
			call.TokenNode = g.Value
		case "arguments":
			call.Args = parseArgs(r, g.Value)
		case "return":
			call.Return, _ = LiteralText(r, g.Value, "return")
			call.ReturnNode = g.Value
		case "options":
			call.options(r, g.Value)
		default:
			r.Unknown(g, "fn::invoke", invokeKeys)
		}
	}
	if call.Token == "" {
		if complete {
			r.Errorf(f.Key, "fn::invoke has no function: it needs \"function: <package>:<module>:<function>\"")
		}
		return invalid(n)
	}
	return call
}

// ParseAction reads a call of an action: its function, arguments, provider, and version. It returns nil if there is
// no function.
func ParseAction(r *source.Report, f source.Field) *Invoke {
	call := &Invoke{written: written{f.Value}, TokenNode: f.Key, Args: &Object{written: written{f.Key}}}
	complete := r.Read(f.Value, "an action",
		source.On("function", func(g source.Field) (ok bool) {
			call.Token, ok = LiteralText(r, g.Value, "the function's name")
			call.TokenNode = g.Value
			return ok
		}),
		source.On("arguments", func(g source.Field) bool {
			call.Args = parseArgs(r, g.Value)
			return true
		}),
		source.On("options", func(g source.Field) bool {
			return r.Read(g.Value, "the options of an action", append(call.packageKeys(r), Key(r, "provider", &call.Provider))...)
		}))
	if call.Token == "" {
		if complete {
			r.Errorf(f.Key, "the action %q has no function: it needs \"function: <package>:<module>:<function>\"", f.Name)
		}
		return nil
	}
	return call
}

func (call *Invoke) options(r *source.Report, n *yaml.Node) {
	r.Read(n, "the options of a function", append(call.packageKeys(r),
		Key(r, "parent", &call.Parent), Key(r, "provider", &call.Provider), Key(r, "dependsOn", &call.DependsOn))...)
}

// packageKeys returns the keys of the options that say which package a function is of.
func (call *Invoke) packageKeys(r *source.Report) []source.Key {
	return []source.Key{
		source.On("version", func(f source.Field) (ok bool) {
			call.VersionNode = f.Value
			call.Version, ok = LiteralText(r, f.Value, "the version")
			return ok
		}),
		DownloadURLKey(r, "pluginDownloadURL"), DownloadURLKey(r, "pluginDownloadUrl"),
	}
}

// Key returns the key of an expression.
func Key(r *source.Report, name string, at *Expr) source.Key {
	return source.KeyOf(name, at, func(n *yaml.Node) (Expr, bool) { return Parse(r, n), true })
}

// LiteralKey returns the key of a text that cannot be computed, see [LiteralText].
func LiteralKey(r *source.Report, name string, at *string) source.Key {
	return source.KeyOf(name, at, func(n *yaml.Node) (string, bool) { return LiteralText(r, n, name) })
}

// DownloadURLKey returns the key of where Pulumi downloads a provider from. It has no effect.
func DownloadURLKey(r *source.Report, name string) source.Key {
	return source.On(name, func(f source.Field) bool {
		r.Warnf(f.Key, "%s is not read: providers are listed in plugins.providers", name)
		return true
	}).Hidden()
}

// LiteralText reads text that cannot be computed.
func LiteralText(r *source.Report, n *yaml.Node, what string) (string, bool) {
	text, ok := r.Text(n, what)
	if ok && strings.Contains(text, "${") {
		r.Errorf(n, "%s must be written out, it cannot be computed", what)
		return "", false
	}
	return text, ok
}

// Describe says what an expression is, for messages. It never shows a value.
func Describe(e Expr) string {
	switch e := e.(type) {
	case *Access:
		return e.String()
	case *Call:
		return "the result of " + e.Function.String()
	case *Invoke:
		return fmt.Sprintf("the result of %s", e.Token)
	}
	return source.Describe(e.Node())
}
