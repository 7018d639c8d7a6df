package main

import (
	"fmt"
	"strings"

	"go.bytecodealliance.org/wit"
)

// coreType returns the Go type of a core value in wasmexport and wasmimport
// functions, and the expressions that make a uint64 of it and the reverse.
func coreType(t wit.Type) (name, widen, narrow string) {
	switch t.(type) {
	case wit.U64:
		return "uint64", "%s", "%s"
	case wit.F64:
		return "float64", "math.Float64bits(%s)", "math.Float64frombits(%s)"
	}
	return "uint32", "uint64(%s)", "uint32(%s)"
}

func param(n int) string { return fmt.Sprintf("p%d", n) }

// coreParams returns a Go parameter list, with runs of one type as p0, p1 uint32.
func coreParams(core *wit.Function) string {
	var b strings.Builder
	for n, p := range core.Params {
		name, _, _ := coreType(p.Type)
		b.WriteString(param(n))
		if n+1 == len(core.Params) {
			b.WriteString(" " + name)
		} else if next, _, _ := coreType(core.Params[n+1].Type); next != name {
			b.WriteString(" " + name + ", ")
		} else {
			b.WriteString(", ")
		}
	}
	return b.String()
}

func writeExports(iface string) func(*contract, *source) {
	return func(c *contract, s *source) {
		i := c.interfaces(iface)[0]
		module := moduleOf(i)
		for n, f := range c.functions(i) {
			core := f.CoreFunction(wit.Exported)
			s.f("//go:wasmexport %s#%s", module, f.Name)
			s.f("func export%s(%s) uint32 {", f.goName, coreParams(core))
			s.f("return answer(%d, %s)", n, record(s, f))
			s.f("}\n")
			s.f("//go:wasmexport cabi_post_%s#%s", module, f.Name)
			s.f("func post%s(uint32) { bindings.Release() }\n", f.goName)
		}
	}
}

// record writes the flat parameters of an export in their memory form, and returns the expression for that. Parameters passed in
// memory have it already.
func record(s *source, f function) string {
	if len(f.Params) == 0 {
		return "nil"
	}
	t := parameters(f)
	if len(t.Flat()) > wit.MaxFlatParams {
		return fmt.Sprintf("bindings.Spilled(p0, %d)", t.Size())
	}
	if t.Size() > flatSize {
		s.fail("the flat parameters of %s take more than %d bytes", f.Name, flatSize)
	}
	s.f("p := &bindings.Flat")
	for n, slot := range flatSlots(s, t, 0) {
		put := strings.ToUpper(slot.kind[:1]) + slot.kind[1:]
		s.f("p.Put%s(%d, %s)", strings.TrimPrefix(put, "Flat"), slot.offset, param(n))
	}
	return fmt.Sprintf("p.Record(%d)", t.Size())
}

// flatSize is the size in bytes of bindings.Flat.
const flatSize = 16 * 8

// writeImports writes the functions that a module may import. Each interface has
// its own dispatch, so that a module imports only the interfaces that it uses.
func writeImports(c *contract, s *source) {
	for _, i := range c.imported() {
		name := interfaceNames[*i.Name]
		dispatch := &source{}
		for n, f := range c.functions(i) {
			core := f.CoreFunction(wit.Imported)
			var args []string
			for k, p := range core.Params {
				_, _, narrow := coreType(p.Type)
				args = append(args, fmt.Sprintf(narrow, fmt.Sprintf("args[%d]", k)))
			}
			result := ""
			call := c.variable(i, f) + "(" + strings.Join(args, ", ") + ")"
			if len(core.Results) > 0 {
				typ, widen, _ := coreType(core.Results[0].Type)
				result = " " + typ
				call = "return " + fmt.Sprintf(widen, call)
			}
			s.f("//go:wasmimport %s %s", moduleOf(i), f.Name)
			s.f("func %s(%s)%s\n", c.variable(i, f), coreParams(core), result)
			dispatch.f("case %d:\n%s", n, call)
		}
		s.f("// %s returns the host's %s.", name, *i.Name)
		s.f("func %s() abi.%s {", name, name)
		s.f("return canon.New%s(caller(func(function int, args []uint64) uint64 {", name)
		s.f("switch function {")
		s.Write(dispatch.Bytes())
		s.f("}\nreturn 0\n}))\n}\n")
	}
}
