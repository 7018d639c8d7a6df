package wasmfile

import (
	"maps"
	"slices"
)

// Features names the features of WebAssembly 2.0 beyond version 1 that a module uses, by their
// proposals. It accepts modules that could be read in part.
func Features(m *Module) []string {
	used := make(map[string]bool)
	if slices.ContainsFunc(m.Types, func(t FuncType) bool { return len(t.Results) > 1 }) {
		used["multiple values"] = true
	}
	if len(m.Tables) > 1 {
		used["reference types"] = true
	}
	for n := range m.Bodies {
		code := m.Code(n)
		var in Instruction
		for code.Next(&in) {
			switch op := in.Op; {
			case op >= 0xc0 && op <= 0xc4:
				used["sign extension"] = true
			case op == 0x1c, op == 0x25, op == OpTableSet, op >= 0xd0 && op <= 0xd2,
				op >= OpTableGrow && op <= OpTableFill:
				used["reference types"] = true
			case op>>8 == prefixMisc && op&0xff < 8:
				used["saturating conversions"] = true
			case op>>8 == prefixMisc:
				used["bulk memory"] = true
			case op>>8 == prefixVector:
				used["vectors"] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(used))
}
