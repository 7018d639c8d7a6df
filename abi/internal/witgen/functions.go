package main

import (
	"fmt"
	"strings"

	"go.bytecodealliance.org/wit"
)

func writeFunctions(c *contract, s *source) {
	for _, i := range c.exported() {
		prefix, what := "", "the contract"
		if *i.Name != "provider" {
			prefix, what = interfaceNames[*i.Name], "what modules of the world "+*i.Name+" export"
		}
		pkg, version := packageOf(i)
		s.f("// %sPackage is the WIT package of %s.", prefix, what)
		s.f("const %sPackage = %q\n", prefix, pkg)
		s.f("// %sVersion is the version of %s, which the names of a module's", prefix, what)
		if prefix == "" {
			s.f("// imports and exports contain.")
		} else {
			s.f("// exports contain.")
		}
		s.f("const %sVersion = %q\n", prefix, version)
	}
	for _, i := range c.callable() {
		for n, f := range c.functions(i) {
			s.f("var %s = Function{", c.variable(i, f))
			s.f("Interface: %q, Name: %q, Index: %d,", *i.Name, f.Name, n)
			if stable, ok := f.Stability.(*wit.Stable); ok {
				s.f("Since: %q,", stable.Since.String())
			}
			if len(f.Params) > 0 {
				r := parameters(f)
				s.f("params: %s,", layoutOf(s, r, wit.MaxFlatParams))
			}
			if len(f.Results) > 0 {
				s.f("result: %s,", layoutOf(s, f.Results[0].Type, wit.MaxFlatResults))
			}
			if f.fails {
				result := kind(f.Results[0].Type).(*wit.Result)
				s.f("fails: true, payload: %d,", payloadOffset(result.Despecialize().(*wit.Variant)))
			}
			s.f("}\n")
		}
	}
	for _, i := range c.exported() {
		s.f("// %sFunctions has the functions that modules of that world export, by index.", *i.Name)
		s.f("var %sFunctions = [...]*Function{", *i.Name)
		for _, f := range c.functions(i) {
			s.f("&%s,", c.variable(i, f))
		}
		s.f("}\n")
	}
}

// variable returns the name of a function's descriptor.
func (c *contract) variable(i *wit.Interface, f function) string {
	return lowerFirst(interfaceNames[*i.Name]) + f.goName
}

// parameters returns a function's parameters as a record; for a single parameter its
// own type, which has the same layout.
func parameters(f function) wit.Type {
	if len(f.Params) == 1 {
		return f.Params[0].Type
	}
	r := &wit.Record{}
	for _, p := range f.Params {
		r.Fields = append(r.Fields, wit.Field{Name: p.Name, Type: p.Type})
	}
	return &wit.TypeDef{Kind: r}
}

func layoutOf(s *source, t wit.Type, maxFlat int) string {
	text := fmt.Sprintf("layout{size: %d, align: %d", t.Size(), t.Align())
	if len(t.Flat()) <= maxFlat {
		var slots []string
		for _, slot := range flatSlots(s, t, 0) {
			slots = append(slots, fmt.Sprintf("{%d, %s}", slot.offset, slot.kind))
		}
		text += ", slots: []slot{" + strings.Join(slots, ", ") + "}"
	}
	return text + "}"
}

type flatSlot struct {
	offset uintptr
	kind   string
}

// flatSlots returns where in memory each value of the flattened type lies.
func flatSlots(s *source, t wit.TypeDefKind, base uintptr) []flatSlot {
	if named, ok := t.(wit.Type); ok {
		t = kind(named)
	}
	if p := primitives[t]; p.flat != "" {
		return []flatSlot{{base, p.flat}}
	}
	switch k := wit.Despecialize(t).(type) {
	case wit.String, *wit.List:
		return []flatSlot{{base, "flat32"}, {base + 4, "flat32"}}
	case *wit.Flags:
		return []flatSlot{{base, "flat8"}}
	case *wit.Record:
		var slots []flatSlot
		offset := base
		for _, f := range k.Fields {
			offset = wit.Align(offset, f.Type.Align())
			slots = append(slots, flatSlots(s, f.Type, offset)...)
			offset += f.Type.Size()
		}
		return slots
	case *wit.Variant:
		slots := []flatSlot{{base, "flat8"}}
		for _, c := range k.Cases {
			if c.Type == nil {
				continue
			}
			for n, slot := range flatSlots(s, c.Type, base+payloadOffset(k)) {
				if n+1 == len(slots) {
					slots = append(slots, slot)
				} else if slots[n+1] != slot {
					s.fail("a variant whose cases have different flat values at one place cannot be passed flat")
				}
			}
		}
		return slots
	}
	s.fail("no flat form of %T", t)
	return nil
}
