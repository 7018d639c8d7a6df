package wasmfile

import "encoding/binary"

// AppendOps appends instructions without operands. Blocks have no parameters and results.
func AppendOps(out []byte, ops ...Opcode) []byte {
	for _, op := range ops {
		if op > 0xff {
			out = append(out, byte(op>>8))
		}
		out = append(out, byte(op))
		if op == OpBlock || op == OpLoop || op == OpIf {
			out = append(out, BlockEmpty)
		}
	}
	return out
}

// AppendIndex appends an instruction with an index or another unsigned number.
func AppendIndex(out []byte, op Opcode, index uint32) []byte {
	return binary.AppendUvarint(AppendOps(out, op), uint64(index))
}

// AppendConst appends an i32.const or i64.const.
func AppendConst(out []byte, op Opcode, number int64) []byte {
	return AppendSigned(append(out, byte(op)), number)
}

// AppendSigned appends a signed LEB128 number in its shortest form.
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
