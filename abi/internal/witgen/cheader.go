package main

import (
	"fmt"
	"strings"

	"go.bytecodealliance.org/wit"
)

// cHeader writes the tables and functions by which a module in C serves and calls the contract: the layout of each type, an
// export for each function of its worlds, and a call of each function that the host offers.
type cHeader struct {
	*contract
	*source
	names map[string]bool // of the types that are written
}

// writeCHeader returns the header with the functions of these worlds, and of these interfaces of the host.
func writeCHeader(c *contract, worlds []string, imported ...string) ([]byte, error) {
	h := &cHeader{contract: c, source: &source{}, names: map[string]bool{}}
	h.f("// Code generated from wit/ by witgen. DO NOT EDIT.\n")
	for _, i := range c.interfaces(worlds...) {
		for _, f := range c.functions(i) {
			h.export(i, f)
		}
	}
	var functions []string
	for _, i := range c.interfaces(imported...) {
		for _, f := range c.functions(i) {
			functions = append(functions, h.imported(i, f))
		}
	}
	h.f("static const struct import imports[] = {\n%s\n};", strings.Join(functions, "\n"))
	return h.Bytes(), h.err
}

// export writes the exported function, which lays its parameters out in memory and has serve answer the call.
func (h *cHeader) export(i *wit.Interface, f function) {
	params, result := h.typeOf(parameters(f)), h.typeOf(f.Results[0].Type)
	symbol := cName(f.Name)
	h.f("static const struct function f_%s = {%q, %s, %s};", symbol, camelName(f.Name), params, result)
	h.f("EXPORT(%q)", moduleOf(i)+"#"+f.Name)
	t := parameters(f)
	if len(t.Flat()) > wit.MaxFlatParams {
		h.f("void *x_%s(char *p) { return serve(&f_%s, p, true); }", symbol, symbol)
	} else {
		var declared, stores []string
		for n, slot := range flatSlots(h.source, t, 0) {
			declared = append(declared, cTypes[slot.kind]+" "+param(n))
			stores = append(stores, fmt.Sprintf("PUT(%d, %s, %s); ", slot.offset, cMemory[slot.kind], param(n)))
		}
		h.f("void *x_%s(%s) { alignas(8) char b[%d] = {0}; %sreturn serve(&f_%s, b, false); }",
			symbol, strings.Join(declared, ", "), t.Size()+1, strings.Join(stores, ""), symbol)
	}
	h.f("EXPORT(%q)", "cabi_post_"+moduleOf(i)+"#"+f.Name)
	h.f("void p_%s(void *answer) { release_answer(); }\n", symbol)
}

// imported writes a function of the host and what calls it with parameters from memory, and returns its entry of the table.
func (h *cHeader) imported(i *wit.Interface, f function) string {
	symbol := cName(*i.Name) + "_" + cName(f.Name)
	t := parameters(f)
	var declared, given []string
	if len(t.Flat()) > wit.MaxFlatParams {
		declared, given = append(declared, "const char *"), append(given, "b")
	} else {
		for _, slot := range flatSlots(h.source, t, 0) {
			declared = append(declared, cTypes[slot.kind])
			given = append(given, fmt.Sprintf("GET(%d, %s)", slot.offset, cMemory[slot.kind]))
		}
	}
	call, returns, result := "", "void", "NULL"
	if len(f.Results) > 0 {
		r := f.Results[0].Type
		result = h.typeOf(r)
		if len(r.Flat()) > wit.MaxFlatResults {
			declared, given = append(declared, "char *"), append(given, "answer")
		} else {
			flat := flatSlots(h.source, r, 0)[0].kind
			call, returns = fmt.Sprintf("*(%s *)answer = ", cMemory[flat]), cTypes[flat]
		}
	}
	h.f("IMPORT(%q, %q) extern %s h_%s(%s);", moduleOf(i), f.Name, returns, symbol, strings.Join(declared, ", "))
	h.f("static void c_%s(const char *b, char *answer) { %sh_%s(%s); }\n", symbol, call, symbol, strings.Join(given, ", "))
	return fmt.Sprintf("\t{{%q, %s, %s}, c_%s},", camelName(*i.Name+"-"+f.Name), h.typeOf(t), result, symbol)
}

// The types of flat values as parameters, and in memory.
var (
	cTypes  = map[string]string{"flat8": "uint32_t", "flat16": "uint32_t", "flat32": "uint32_t", "flat64": "uint64_t", "flatFloat": "double"}
	cMemory = map[string]string{"flat8": "uint8_t", "flat16": "uint16_t", "flat32": "uint32_t", "flat64": "uint64_t", "flatFloat": "double"}
)

// typeOf writes what describes a type, unless that was done, and returns the expression for it.
func (h *cHeader) typeOf(t wit.TypeDefKind) string {
	name, kindName, parts, of := "", "", []string{}, "NULL"
	payload := uintptr(0)
	part := func(name string, offset uintptr, t wit.Type) {
		described := "NULL"
		if t != nil {
			described = h.typeOf(t)
		}
		parts = append(parts, fmt.Sprintf("{%q, %d, %s}", camelName(name), offset, described))
	}
	alias, _ := t.(wit.Type)
	if alias != nil {
		if named, _ := h.named(alias); named == "property.Map" || named == "property.Value" {
			return "&t_properties"
		}
		if td, ok := alias.(*wit.TypeDef); ok && td.Root().Name != nil {
			name = *td.Root().Name
			if owner, ok := td.Root().Owner.(*wit.Interface); ok && *owner.Name != "types" {
				name = *owner.Name + "-" + name
			}
		}
		t = kind(alias)
	}
	switch k := t.(type) {
	case wit.Bool, wit.U8, wit.U16, wit.U32, wit.U64, wit.F64, wit.String:
		return "&t_" + strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", k), "wit."))
	case *wit.List:
		if _, ok := kind(k.Type).(wit.U8); ok {
			return "&t_bytes"
		}
		of = h.typeOf(k.Type)
		name, kindName = "list-of-"+strings.TrimPrefix(of, "&t_"), "LIST"
	case *wit.Option:
		of = h.typeOf(k.Type)
		name, kindName = "option-of-"+strings.TrimPrefix(of, "&t_"), "OPTION"
		payload = payloadOffset(wit.Despecialize(k).(*wit.Variant))
	case *wit.Result:
		part("ok", 0, k.OK)
		part("error", 0, k.Err)
		payload = payloadOffset(wit.Despecialize(k).(*wit.Variant))
		kindName, name = "RESULT", "result-of-nothing"
		if k.OK != nil {
			name = "result-of-" + strings.TrimPrefix(h.typeOf(k.OK), "&t_")
		}
	case *wit.Record:
		kindName = "RECORD"
		h.eachField(k.Fields, func(f wit.Field, offset uintptr) { part(f.Name, offset, f.Type) })
		if name == "" { // several parameters
			for _, f := range k.Fields {
				name += "with-" + f.Name + "-" + strings.TrimPrefix(h.typeOf(f.Type), "&t_")
			}
		}
	case *wit.Variant:
		kindName, payload = "VARIANT", payloadOffset(k)
		for _, c := range k.Cases {
			part(c.Name, 0, c.Type)
		}
	case *wit.Enum:
		kindName = "ENUM"
		for _, c := range k.Cases {
			parts = append(parts, fmt.Sprintf("{%q}", c.Name))
		}
	case *wit.Flags:
		kindName = "FLAGS"
		for _, flag := range k.Flags {
			part(flag.Name, 0, nil)
		}
	default:
		h.fail("C has no description of %T", t)
		return ""
	}
	symbol := "t_" + cName(name)
	if !h.names[symbol] {
		h.names[symbol] = true
		list := "NULL"
		if len(parts) > 0 {
			list = symbol + "_parts"
			h.f("static const struct part %s[] = {%s};", list, strings.Join(parts, ", "))
		}
		h.f("static const struct type %s = {%s, %d, %d, %d, %d, %s, %s};", symbol, kindName, t.Align(), len(parts), t.Size(), payload, list, of)
	}
	return "&" + symbol
}

func cName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// camelName returns a WIT name in JavaScript's spelling: old-inputs is oldInputs.
func camelName(name string) string {
	words := strings.Split(name, "-")
	for n := 1; n < len(words); n++ {
		words[n] = strings.ToUpper(words[n][:1]) + words[n][1:]
	}
	return strings.Join(words, "")
}
