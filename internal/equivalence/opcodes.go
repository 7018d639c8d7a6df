package equivalence

import "github.com/husk-dev/husk/internal/wasmfile"

// plainOperands, miscOperands, and vectorOperands have the operands and results of each instruction,
// in the order of opcodes, 16 in a line:
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

// operands returns the numbers of values that an instruction takes from the stack and puts onto it.
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
	case wasmfile.OpDrop:
		return drop
	case wasmfile.OpI32Eqz, wasmfile.OpI64Eqz, wasmfile.OpI32Add, wasmfile.OpI64Add, wasmfile.OpI32WrapI64, wasmfile.OpI64ExtendI32U:
		return arithmetic
	}
	if isComparison(op) {
		return arithmetic
	}
	return effect
}

// opposite has for each comparison of integers the one that holds otherwise.
var opposite = map[wasmfile.Opcode]wasmfile.Opcode{
	wasmfile.OpI32Eq: wasmfile.OpI32Ne, wasmfile.OpI32Ne: wasmfile.OpI32Eq,
	wasmfile.OpI32LtS: wasmfile.OpI32GeS, wasmfile.OpI32GeS: wasmfile.OpI32LtS, wasmfile.OpI32LtU: wasmfile.OpI32GeU, wasmfile.OpI32GeU: wasmfile.OpI32LtU,
	wasmfile.OpI32GtS: wasmfile.OpI32LeS, wasmfile.OpI32LeS: wasmfile.OpI32GtS, wasmfile.OpI32GtU: wasmfile.OpI32LeU, wasmfile.OpI32LeU: wasmfile.OpI32GtU,
	wasmfile.OpI64Eq: wasmfile.OpI64Ne, wasmfile.OpI64Ne: wasmfile.OpI64Eq,
	wasmfile.OpI64LtS: wasmfile.OpI64GeS, wasmfile.OpI64GeS: wasmfile.OpI64LtS, wasmfile.OpI64LtU: wasmfile.OpI64GeU, wasmfile.OpI64GeU: wasmfile.OpI64LtU,
	wasmfile.OpI64GtS: wasmfile.OpI64LeS, wasmfile.OpI64LeS: wasmfile.OpI64GtS, wasmfile.OpI64GtU: wasmfile.OpI64LeU, wasmfile.OpI64LeU: wasmfile.OpI64GtU,
}

// isComparison reports whether an instruction compares two integers.
func isComparison(op wasmfile.Opcode) bool {
	return op >= wasmfile.OpI32Eq && op <= wasmfile.OpI32GeU || op >= wasmfile.OpI64Eq && op <= wasmfile.OpI64GeU
}
