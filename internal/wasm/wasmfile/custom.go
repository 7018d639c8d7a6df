package wasmfile

// WithCustom returns a copy of the module with the custom section at its end, once by its name.
func WithCustom(wasm []byte, name string, data []byte) ([]byte, error) {
	out := make([]byte, 0, len(wasm)+len(name)+len(data)+16)
	from := 0
	err := sections(wasm, func(id byte, start int, r *reader) {
		if id == SectionCustom && r.name() == name {
			out = append(out, wasm[from:start]...)
			from = r.base + len(r.data)
		}
	})
	if err != nil {
		return nil, err
	}
	out = append(out, wasm[from:]...)
	return AppendSized(append(out, SectionCustom), AppendSized(nil, []byte(name)), data), nil
}
