package equivalence

import "github.com/husk-dev/husk/internal/wasmfile"

// Opcodes of the instructions whose results [terms] compute.
const (
	opI32Eqz        wasmfile.Opcode = 0x45
	opI32Eq         wasmfile.Opcode = 0x46
	opI32Ne         wasmfile.Opcode = 0x47
	opI32LtS        wasmfile.Opcode = 0x48
	opI32LtU        wasmfile.Opcode = 0x49
	opI32GtS        wasmfile.Opcode = 0x4a
	opI32GtU        wasmfile.Opcode = 0x4b
	opI32LeS        wasmfile.Opcode = 0x4c
	opI32LeU        wasmfile.Opcode = 0x4d
	opI32GeS        wasmfile.Opcode = 0x4e
	opI32GeU        wasmfile.Opcode = 0x4f
	opI64Eqz        wasmfile.Opcode = 0x50
	opI64Eq         wasmfile.Opcode = 0x51
	opI64Ne         wasmfile.Opcode = 0x52
	opI64LtS        wasmfile.Opcode = 0x53
	opI64LtU        wasmfile.Opcode = 0x54
	opI64GtS        wasmfile.Opcode = 0x55
	opI64GtU        wasmfile.Opcode = 0x56
	opI64LeS        wasmfile.Opcode = 0x57
	opI64LeU        wasmfile.Opcode = 0x58
	opI64GeS        wasmfile.Opcode = 0x59
	opI64GeU        wasmfile.Opcode = 0x5a
	opI32Add        wasmfile.Opcode = 0x6a
	opI64Add        wasmfile.Opcode = 0x7c
	opI32WrapI64    wasmfile.Opcode = 0xa7
	opI64ExtendI32U wasmfile.Opcode = 0xad

	opDrop wasmfile.Opcode = 0x1a
)

// plainOperands, miscOperands, and vectorOperands say what each instruction takes from the stack and
// puts onto it, in the order of their opcodes, 16 in a line:
//
//	p  puts one value      1  takes one           u  takes one and puts one
//	.  does neither        2  takes two           b  takes two and puts one
//	-  is none of these    3  takes three         t  takes three and puts one
const plainOperands = "" +
	"----------------" +
	"----------1tt---" +
	"p1up1u2-uuuuuuuu" +
	"uuuuuu222222222p" +
	"uppppubbbbbbbbbb" +
	"ubbbbbbbbbbbbbbb" +
	"bbbbbbbuuubbbbbb" +
	"bbbbbbbbbuuubbbb" +
	"bbbbbbbbbbbuuuuu" +
	"uubbbbbbbuuuuuuu" +
	"bbbbbbbuuuuuuuuu" +
	"uuuuuuuuuuuuuuuu" +
	"uuuuu-----------" +
	"pup-------------" +
	"----------------" +
	"----------------"

const miscOperands = "uuuuuuuu3.333.3bp3"

const vectorOperands = "" +
	"uuuuuuuuuuu2pbbu" +
	"uuuuuuubuubububu" +
	"bubbbbbbbbbbbbbb" +
	"bbbbbbbbbbbbbbbb" +
	"bbbbbbbbbbbbbubb" +
	"bbtubbbb2222uuuu" +
	"uuuuubbuuuubbbbb" +
	"bbbbuubbbbubuuuu" +
	"uubuubbuuuubbbbb" +
	"bbbbubbbbb-bbbbb" +
	"uu-uu--uuuubbbb-" +
	"-b---bbbbbb-bbbb" +
	"uu-uu--uuuubbbb-" +
	"-b---bbbbbbbbbbb" +
	"uu-ubbbbbbbbuu-u" +
	"bbbbbbbbuuuuuuuu"

// operands returns how many values an instruction takes from the stack, and how many it puts onto it.
func operands(op wasmfile.Opcode) (pops, pushes uint16, known bool) {
	all, at := plainOperands, int(op)
	switch op >> 8 {
	case 0:
	case 0xfc:
		all, at = miscOperands, at&0xff
	case 0xfd:
		all, at = vectorOperands, at&0xff
	default:
		return 0, 0, false
	}
	if at >= len(all) {
		return 0, 0, false
	}
	switch all[at] {
	case 'p':
		return 0, 1, true
	case 'u':
		return 1, 1, true
	case 'b':
		return 2, 1, true
	case 't':
		return 3, 1, true
	case '.', '1', '2', '3':
		return uint16(max(all[at], '0') - '0'), 0, true
	}
	return 0, 0, false
}

// kindOf is the kind of an instruction that goes on with the next one.
func kindOf(op wasmfile.Opcode) kind {
	switch op {
	case wasmfile.OpI32Const, wasmfile.OpI64Const:
		return number
	case wasmfile.OpLocalGet:
		return get
	case wasmfile.OpLocalSet:
		return set
	case wasmfile.OpLocalTee:
		return tee
	case opDrop:
		return drop
	case opI32Eqz, opI64Eqz, opI32Add, opI64Add, opI32WrapI64, opI64ExtendI32U:
		return arithmetic
	}
	if isComparison(op) {
		return arithmetic
	}
	return effect
}

// opposite has for each comparison of integers the one that holds where it does not.
var opposite = map[wasmfile.Opcode]wasmfile.Opcode{
	opI32Eq: opI32Ne, opI32Ne: opI32Eq,
	opI32LtS: opI32GeS, opI32GeS: opI32LtS, opI32LtU: opI32GeU, opI32GeU: opI32LtU,
	opI32GtS: opI32LeS, opI32LeS: opI32GtS, opI32GtU: opI32LeU, opI32LeU: opI32GtU,
	opI64Eq: opI64Ne, opI64Ne: opI64Eq,
	opI64LtS: opI64GeS, opI64GeS: opI64LtS, opI64LtU: opI64GeU, opI64GeU: opI64LtU,
	opI64GtS: opI64LeS, opI64LeS: opI64GtS, opI64GtU: opI64LeU, opI64LeU: opI64GtU,
}

// isComparison reports whether an instruction compares two integers.
func isComparison(op wasmfile.Opcode) bool {
	return op >= opI32Eq && op <= opI32GeU || op >= opI64Eq && op <= opI64GeU
}
