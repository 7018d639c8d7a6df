package wasmfile

// Features names the features of WebAssembly 2.0 beyond version 1 that a module uses, by their
// proposals. It accepts modules that could be read in part.
func Features(m *Module) []string {
	var used struct{ signs, saturating, bulk, references, vectors, values bool }
	for _, t := range m.Types {
		used.values = used.values || len(t.Results) > 1
	}
	used.references = len(m.Tables) > 1
	for n := range m.Bodies {
		code := m.Code(n)
		var in Instruction
		for code.Next(&in) {
			switch op := in.Op; {
			case op >= 0xc0 && op <= 0xc4:
				used.signs = true
			case op == 0x1c, op == 0x25, op == OpTableSet, op >= 0xd0 && op <= 0xd2,
				op >= OpTableGrow && op <= OpTableFill:
				used.references = true
			case op>>8 == 0xfc && op&0xff < 8:
				used.saturating = true
			case op>>8 == 0xfc:
				used.bulk = true
			case op>>8 == 0xfd:
				used.vectors = true
			}
		}
	}
	var names []string
	for _, f := range []struct {
		used bool
		name string
	}{
		{used.bulk, "bulk memory"}, {used.values, "multiple values"}, {used.references, "reference types"},
		{used.saturating, "saturating conversions"}, {used.signs, "sign extension"}, {used.vectors, "vectors"},
	} {
		if f.used {
			names = append(names, f.name)
		}
	}
	return names
}
