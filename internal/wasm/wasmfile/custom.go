package wasmfile

// WithCustom returns a copy of the module with the custom section at its end, once by its name.
func WithCustom(wasm []byte, name string, data []byte) ([]byte, error) {
	out, err := withoutCustom(wasm, name, len(name)+len(data)+16)
	if err != nil {
		return nil, err
	}
	return AppendSized(append(out, SectionCustom), AppendSized(nil, []byte(name)), data), nil
}

// WithoutCustom returns a copy of the module without the custom sections of a name.
func WithoutCustom(wasm []byte, name string) ([]byte, error) { return withoutCustom(wasm, name, 0) }

// withoutCustom is WithoutCustom with room for what the caller appends.
func withoutCustom(wasm []byte, name string, room int) ([]byte, error) {
	out := make([]byte, 0, len(wasm)+room)
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
	return append(out, wasm[from:]...), nil
}
