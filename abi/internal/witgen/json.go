package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.bytecodealliance.org/wit"
)

// encodeResolve writes the JSON that wit.DecodeJSON reads, in the layout of
// wasm-tools' `component wit --json`: worlds, interfaces, types and packages are
// lists whose members refer to each other by index. What the contract does not
// use (resources, streams, stability) is refused.
func encodeResolve(r *wit.Resolve) ([]byte, error) {
	e := &jsonEncoder{index: map[wit.Node]int{}}
	for n, w := range r.Worlds {
		e.index[w] = n
	}
	for n, i := range r.Interfaces {
		e.index[i] = n
	}
	for n, t := range r.TypeDefs {
		e.index[t] = n
	}
	for n, p := range r.Packages {
		e.index[p] = n
	}
	var doc struct {
		Worlds     []any `json:"worlds"`
		Interfaces []any `json:"interfaces"`
		Types      []any `json:"types"`
		Packages   []any `json:"packages"`
	}
	for _, w := range r.Worlds {
		doc.Worlds = append(doc.Worlds, e.world(w))
	}
	for _, i := range r.Interfaces {
		doc.Interfaces = append(doc.Interfaces, e.iface(i))
	}
	for _, t := range r.TypeDefs {
		doc.Types = append(doc.Types, e.typeDef(t))
	}
	for _, p := range r.Packages {
		doc.Packages = append(doc.Packages, e.pkg(p))
	}
	if e.err != nil {
		return nil, e.err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

type jsonEncoder struct {
	index map[wit.Node]int
	err   error
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	buf := []byte{'{'}
	for n, m := range o {
		if n > 0 {
			buf = append(buf, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		buf = append(append(append(buf, key...), ':'), value...)
	}
	return append(buf, '}'), nil
}

// marshal is json.Marshal that leaves < and > readable.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}

func withDocs(o object, d wit.Docs) object {
	if d.Contents == "" {
		return o
	}
	return append(o, member{"docs", object{{"contents", d.Contents}}})
}

func (e *jsonEncoder) world(w *wit.World) object {
	items := func(each func(yield func(string, wit.WorldItem) bool)) object {
		o := object{}
		for name, item := range each {
			ref, ok := item.(*wit.InterfaceRef)
			if !ok {
				e.fail("world %s: %s is no interface", w.Name, name)
				continue
			}
			o = append(o, member{name, object{{"interface", object{{"id", e.index[ref.Interface]}}}}})
		}
		return o
	}
	o := object{
		{"name", w.Name},
		{"imports", items(w.Imports.All())},
		{"exports", items(w.Exports.All())},
		{"package", e.index[w.Package]},
	}
	return withDocs(o, w.Docs)
}

func (e *jsonEncoder) iface(i *wit.Interface) object {
	types, functions := object{}, object{}
	for name, t := range i.TypeDefs.All() {
		types = append(types, member{name, e.index[t]})
	}
	for name, f := range i.Functions.All() {
		params := []any{}
		for _, p := range f.Params {
			params = append(params, object{{"name", p.Name}, {"type", e.typ(p.Type)}})
		}
		o := object{{"name", f.Name}, {"kind", "freestanding"}, {"params", params}}
		if len(f.Results) > 0 {
			o = append(o, member{"result", e.typ(f.Results[0].Type)})
		}
		functions = append(functions, member{name, withDocs(o, f.Docs)})
	}
	o := object{{"name", *i.Name}, {"types", types}, {"functions", functions}}
	o = withDocs(o, i.Docs)
	return append(o, member{"package", e.index[i.Package]})
}

func (e *jsonEncoder) typeDef(t *wit.TypeDef) object {
	o := object{{"name", t.Name}, {"kind", e.kind(t.Kind)}, {"owner", nil}}
	if i, ok := t.Owner.(*wit.Interface); ok {
		o[2].value = object{{"interface", e.index[i]}}
	}
	return withDocs(o, t.Docs)
}

func (e *jsonEncoder) kind(k wit.TypeDefKind) any {
	list := func(outer, inner string, members []any) object {
		return object{{outer, object{{inner, members}}}}
	}
	var members []any
	switch k := k.(type) {
	case wit.Type:
		return object{{"type", e.typ(k)}}
	case *wit.List:
		return object{{"list", e.typ(k.Type)}}
	case *wit.Option:
		return object{{"option", e.typ(k.Type)}}
	case *wit.Result:
		return object{{"result", object{{"ok", e.typ(k.OK)}, {"err", e.typ(k.Err)}}}}
	case *wit.Record:
		for _, f := range k.Fields {
			members = append(members, withDocs(object{{"name", f.Name}, {"type", e.typ(f.Type)}}, f.Docs))
		}
		return list("record", "fields", members)
	case *wit.Variant:
		for _, c := range k.Cases {
			members = append(members, withDocs(object{{"name", c.Name}, {"type", e.typ(c.Type)}}, c.Docs))
		}
		return list("variant", "cases", members)
	case *wit.Enum:
		for _, c := range k.Cases {
			members = append(members, withDocs(object{{"name", c.Name}}, c.Docs))
		}
		return list("enum", "cases", members)
	case *wit.Flags:
		for _, f := range k.Flags {
			members = append(members, withDocs(object{{"name", f.Name}}, f.Docs))
		}
		return list("flags", "flags", members)
	}
	e.fail("no JSON for %T", k)
	return nil
}

// typ returns a reference to a type: its index, or the name of a primitive.
func (e *jsonEncoder) typ(t wit.Type) any {
	switch t := t.(type) {
	case nil:
		return nil
	case *wit.TypeDef:
		return e.index[t]
	case wit.Primitive:
		return t.WIT(nil, "")
	}
	e.fail("no JSON for %T", t)
	return nil
}

func (e *jsonEncoder) pkg(p *wit.Package) object {
	interfaces, worlds := object{}, object{}
	for name, i := range p.Interfaces.All() {
		interfaces = append(interfaces, member{name, e.index[i]})
	}
	for name, w := range p.Worlds.All() {
		worlds = append(worlds, member{name, e.index[w]})
	}
	o := object{{"name", p.Name.String()}}
	o = withDocs(o, p.Docs)
	return append(o, member{"interfaces", interfaces}, member{"worlds", worlds})
}

func (e *jsonEncoder) fail(text string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(text, args...)
	}
}
