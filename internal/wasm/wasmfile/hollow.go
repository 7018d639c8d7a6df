package wasmfile

import "encoding/binary"

// Hollow returns a valid module whose functions trap at once, and which is otherwise the given one,
// with a custom section at its end.
func Hollow(wasm []byte, name string, data []byte) ([]byte, error) {
	if len(wasm) < HeaderSize {
		return nil, ErrTruncated
	}
	out := append([]byte(nil), wasm[:HeaderSize]...)
	err := sections(wasm, func(id byte, start int, r *reader) {
		if id != SectionCode {
			out = append(out, wasm[start:r.base+len(r.data)]...)
			return
		}
		// A body is its length, no local variables, unreachable, and end.
		const body = "\x03\x00\x00\x0b"
		count := r.u32()
		if uint64(count)*2 > uint64(r.left()) {
			r.fail("more functions than there is code")
			return
		}
		content := binary.AppendUvarint(nil, uint64(count))
		out = append(out, SectionCode)
		out = binary.AppendUvarint(out, uint64(len(content))+uint64(count)*uint64(len(body)))
		out = append(out, content...)
		for range count {
			out = append(out, body...)
		}
	})
	if err != nil {
		return nil, err
	}
	return WithCustom(out, name, data)
}
