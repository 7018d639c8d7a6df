package wasmfile

// AppendSigned appends a signed LEB128 number in its shortest form, for those who write modules.
func AppendSigned(out []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(out, low)
		}
		out = append(out, low|0x80)
	}
}

// Signed reads a signed LEB128 number that is part of a module, and was checked with it.
func Signed(number []byte) int64 {
	r := reader{data: number}
	return r.signed(64)
}
