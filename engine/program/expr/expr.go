package expr

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// Expr is a [*Literal], [*Text], [*Access], [*List], [*Object], [*Call], [*Invoke], or [*Invalid].
type Expr interface {
	// Node is where the expression was read.
	Node() *yaml.Node
}

type written struct{ node *yaml.Node }

func (w written) Node() *yaml.Node { return w.node }

// Literal is null, a truth value, a number, or text without ${...}.
type Literal struct {
	written
	Value property.Value
}

// Text is text with ${...} inside.
type Text struct {
	written
	Parts []Part
}

// Part is text and the access that follows it, which is nil at the text's end.
type Part struct {
	Text   string
	Access *Access
}

// Access is a ${...}: a name, and the path to a part of its value.
type Access struct {
	written
	// Name is the name of a resource, a variable, or a configuration key.
	Name string
	Path property.Path
	// occurrence counts the "${" before this one in the node's text. offsets are the places of Name
	// and Path behind it, in characters.
	occurrence int
	offsets    []int
}

// Position returns where the name (0) or a segment of the path (from 1) stands.
func (a *Access) Position(f *source.File, segment int) source.Position {
	return f.Within(a.node, a.occurrence, len("${")+a.offsets[segment])
}

// String returns the access as it is written: ${name.path}.
func (a *Access) String() string {
	s := a.Name
	if path := a.Path.String(); path != "" {
		if path[0] != '[' {
			s += "."
		}
		s += path
	}
	return "${" + s + "}"
}

// List is a list of expressions.
type List struct {
	written
	Elements []Expr
}

// Object is a mapping of keys to expressions.
type Object struct {
	written
	Entries []Entry
	// byName are the indexes of entries in a large object.
	byName map[string]int
}

// fewEntries is up to how many entries an object is searched from its begin.
const fewEntries = 16

// index makes the entries of an object be found by their names.
func (o *Object) index() *Object {
	if len(o.Entries) <= fewEntries {
		return o
	}
	o.byName = make(map[string]int, len(o.Entries))
	for i, e := range o.Entries {
		name, ok := e.Name()
		if _, taken := o.byName[name]; ok && !taken {
			o.byName[name] = i
		}
	}
	return o
}

// Entry is one key of an object with its value. The key is a [*Literal], [*Text], or [*Access].
type Entry struct {
	Key   Expr
	Value Expr
}

// Name returns the key as far as it is known without evaluating anything.
func (e Entry) Name() (string, bool) {
	if l, ok := e.Key.(*Literal); ok {
		return l.Value.AsString()
	}
	return "", false
}

// Lookup returns the entry whose key is the name.
func (o *Object) Lookup(name string) (Entry, bool) {
	if o.byName != nil {
		if i, ok := o.byName[name]; ok {
			return o.Entries[i], true
		}
		return Entry{}, false
	}
	for _, e := range o.Entries {
		if n, ok := e.Name(); ok && n == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Call is a call of a built-in function.
type Call struct {
	written
	Function Function
	// Args has as many expressions as the function has arguments.
	Args []Expr
}

// Invoke is a call of a provider's function.
type Invoke struct {
	written
	// Token names the function, as it is written.
	Token     string
	TokenNode *yaml.Node
	// Args are the arguments; without any it is an empty object.
	Args *Object
	// Return is the property of the result that is meant, empty for all of it.
	Return     string
	ReturnNode *yaml.Node
	// Parent, Provider, and DependsOn are resources; nil if not set.
	Parent, Provider, DependsOn Expr
	// Version is the version of the package, empty for any.
	Version     string
	VersionNode *yaml.Node
}

// Invalid stands for an expression that could not be read. Why was reported.
type Invalid struct{ written }

// Accesses calls f for every access in an expression, in the order of the file.
func Accesses(e Expr, f func(*Access)) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Access:
			f(e)
		case *Text:
			for _, p := range e.Parts {
				if p.Access != nil {
					f(p.Access)
				}
			}
		}
	})
}

// Walk calls f for an expression and every one inside it.
func Walk(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch e := e.(type) {
	case *List:
		for _, element := range e.Elements {
			Walk(element, f)
		}
	case *Object:
		for _, entry := range e.Entries {
			Walk(entry.Key, f)
			Walk(entry.Value, f)
		}
	case *Call:
		for _, arg := range e.Args {
			Walk(arg, f)
		}
	case *Invoke:
		Walk(e.Args, f)
		for _, option := range []Expr{e.Parent, e.Provider, e.DependsOn} {
			Walk(option, f)
		}
	}
}

// WithValue returns a literal in the same place with another value.
func (l *Literal) WithValue(v property.Value) *Literal { return &Literal{l.written, v} }
