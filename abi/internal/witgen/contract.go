package main

import (
	"fmt"
	"go/token"
	"strings"

	"go.bytecodealliance.org/wit"
)

// contract is the resolved WIT with the Go names of its types.
type contract struct {
	resolve *wit.Resolve
	names   map[*wit.TypeDef]string   // Go name of each named type, aliases resolved
	taken   map[string]*wit.Interface // the interface that owns each Go name
}

// The interfaces of the contract, with the Go name of each.
var interfaceNames = map[string]string{
	"types": "", "provider": "Provider", "policy": "Policy", "program": "Program", "monitor": "Monitor",
	"log": "Log", "control": "Control", "http": "HTTP", "tcp": "TCP", "files": "Files", "assets": "Assets", "kv": "KV",
}

// foreign holds the WIT types that Go has hand-written types for.
var foreign = map[string]string{
	"properties":     "property.Map",
	"property-value": "property.Value",
	"urn":            "urn.URN",
	"property-path":  "string",
}

func newContract(r *wit.Resolve) (*contract, error) {
	c := &contract{resolve: r, names: map[*wit.TypeDef]string{}, taken: map[string]*wit.Interface{}}
	for _, i := range r.Interfaces {
		if _, ok := interfaceNames[*i.Name]; !ok {
			return nil, fmt.Errorf("interface %s has no Go name: add it to interfaceNames", *i.Name)
		}
	}
	for n, i := range c.allInterfaces() {
		if i == nil {
			return nil, fmt.Errorf("the WIT lacks an interface: number %d of allInterfaces", n)
		}
		for _, t := range i.TypeDefs.All() {
			if t.Root() != t {
				continue // a use of another interface's type
			}
			if go_, ok := foreign[t.TypeName()]; ok {
				c.names[t] = go_
				continue
			}
			name := goName(t.TypeName())
			switch *i.Name {
			case "types", "provider":
			case "monitor":
				if c.taken[name] != nil {
					name = "Monitor" + name
				}
			default:
				name = interfaceNames[*i.Name] + name
			}
			if c.taken[name] != nil {
				return nil, fmt.Errorf("two types have the Go name %s", name)
			}
			c.names[t], c.taken[name] = name, i
		}
	}
	return c, nil
}

// interfaces returns the interfaces of the names, in that order, nil for one that is
// missing.
func (c *contract) interfaces(names ...string) []*wit.Interface {
	out := make([]*wit.Interface, len(names))
	for n, name := range names {
		for _, i := range c.resolve.Interfaces {
			if *i.Name == name {
				out[n] = i
			}
		}
	}
	return out
}

// allInterfaces returns the interfaces, sources of types first.
func (c *contract) allInterfaces() []*wit.Interface {
	return append(c.interfaces("types"), c.callable()...)
}

// callable returns the interfaces with functions.
func (c *contract) callable() []*wit.Interface { return append(c.exported(), c.imported()...) }

// exported returns the interfaces that modules export, each in a world of its own.
func (c *contract) exported() []*wit.Interface { return c.interfaces("provider", "policy", "program") }

// imported returns the interfaces that the host offers to modules of every world.
func (c *contract) imported() []*wit.Interface {
	return c.interfaces("log", "control", "http", "tcp", "files", "assets", "kv", "monitor")
}

// packageOf returns the WIT package of an interface and its version: husk:provider and 0.1.0.
func packageOf(i *wit.Interface) (name, version string) {
	id := i.Package.Name
	return id.Namespace + ":" + id.Package, id.Version.String()
}

// moduleOf returns the module name of an interface: husk:provider/log@0.2.0.
func moduleOf(i *wit.Interface) string {
	pkg, version := packageOf(i)
	return pkg + "/" + *i.Name + "@" + version
}

// named returns the Go name of a type, and false for an anonymous or primitive type.
func (c *contract) named(t wit.Type) (string, bool) {
	td, ok := t.(*wit.TypeDef)
	if !ok {
		return "", false
	}
	name, ok := c.names[td.Root()]
	return name, ok
}

// goType returns the Go type of t, with the types of package abi qualified by pkg.
func (c *contract) goType(t wit.Type, pkg string) string {
	if name, ok := c.named(t); ok {
		switch {
		case name == "Error":
			return "*" + pkg + name
		case strings.Contains(name, ".") || token.IsKeyword(name) || name == "string":
			return name
		}
		return pkg + name
	}
	if p, ok := primitives[kind(t)]; ok {
		return p.goType
	}
	switch t := kind(t).(type) {
	case *wit.List:
		return "[]" + c.goType(t.Type, pkg)
	case *wit.Option:
		return "*" + c.goType(t.Type, pkg)
	}
	panic(fmt.Sprintf("the contract uses a type that Go has no mapping for: %T", t))
}

// primitive says how Go has a type without parts.
type primitive struct {
	// goType is the Go type, and flat the form as a flat value, empty for a type that has several.
	goType, flat string
	// lift is the expression for the value at AT, and lower the statement that writes SRC there. A
	// failure is about the field FIELD. They are empty for a type that only lists have.
	lift, lower string
}

var primitives = map[wit.TypeDefKind]primitive{
	wit.Bool{}:   {"bool", "flat8", "l.bool(AT, FIELD)", "w.bool(AT, SRC)"},
	wit.U8{}:     {"byte", "flat8", "", ""},
	wit.U16{}:    {"uint16", "flat16", "u16(AT)", "putU16(AT, SRC)"},
	wit.U32{}:    {"uint32", "flat32", "u32(AT)", "putU32(AT, SRC)"},
	wit.U64{}:    {"uint64", "flat64", "u64(AT)", "putU64(AT, SRC)"},
	wit.F64{}:    {"float64", "flatFloat", "l.f64(AT)", "w.f64(AT, SRC)"},
	wit.String{}: {"string", "", "l.string(AT, FIELD)", "w.string(AT, SRC, FIELD)"},
}

// kind returns the kind of a type, below its names.
func kind(t wit.Type) wit.TypeDefKind {
	for {
		td, ok := t.(*wit.TypeDef)
		if !ok {
			return t
		}
		inner, ok := td.Kind.(wit.Type)
		if !ok {
			return td.Kind
		}
		t = inner
	}
}

type function struct {
	*wit.Function
	goName string   // of the method
	params []string // Go names of the parameters
	result wit.Type // nil for none
	fails  bool     // returns a result<_, error>
}

func (c *contract) functions(i *wit.Interface) []function {
	var out []function
	for _, f := range i.Functions.All() {
		g := function{Function: f, goName: goName(f.Name)}
		for _, p := range f.Params {
			g.params = append(g.params, strings.ReplaceAll(p.Name, "-", ""))
		}
		if len(f.Results) > 0 {
			g.result = f.Results[0].Type
			if r, ok := kind(g.result).(*wit.Result); ok {
				g.result, g.fails = r.OK, true
			}
		}
		out = append(out, g)
	}
	return out
}

// signature returns the parameters and results of the Go method.
func (c *contract) signature(f function, pkg string, named bool) string {
	var b strings.Builder
	b.WriteString("(")
	if named {
		b.WriteString("ctx ")
	}
	b.WriteString("context.Context")
	for i, p := range f.Params {
		b.WriteString(", ")
		if named {
			b.WriteString(f.params[i] + " ")
		}
		b.WriteString(c.goType(p.Type, pkg))
	}
	b.WriteString(")")
	var results []string
	if f.result != nil {
		results = append(results, c.goType(f.result, pkg))
	}
	if f.fails {
		results = append(results, "error")
	}
	switch len(results) {
	case 0:
	case 1:
		b.WriteString(" " + results[0])
	default:
		b.WriteString(" (" + strings.Join(results, ", ") + ")")
	}
	return b.String()
}

var initialisms = map[string]string{
	"http": "HTTP", "id": "ID", "json": "JSON", "kv": "KV", "sdk": "SDK",
	"tcp": "TCP", "uri": "URI", "url": "URL", "urn": "URN", "urns": "URNs",
}

// goName returns a WIT name in Go's spelling: not-found is NotFound, timeout-ms is TimeoutMs.
func goName(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		if s, ok := initialisms[word]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
