package wasmfile

// Opcode names an instruction: its byte, or its prefix and what follows.
type Opcode uint16

// Opcodes of instructions that the host looks into.
const (
	OpUnreachable  Opcode = 0x00
	OpNop          Opcode = 0x01
	OpBlock        Opcode = 0x02
	OpLoop         Opcode = 0x03
	OpIf           Opcode = 0x04
	OpElse         Opcode = 0x05
	OpEnd          Opcode = 0x0b
	OpBr           Opcode = 0x0c
	OpBrIf         Opcode = 0x0d
	OpBrTable      Opcode = 0x0e
	OpReturn       Opcode = 0x0f
	OpCall         Opcode = 0x10
	OpCallIndirect Opcode = 0x11
	OpLocalGet     Opcode = 0x20
	OpLocalSet     Opcode = 0x21
	OpLocalTee     Opcode = 0x22
	OpGlobalGet    Opcode = 0x23
	OpGlobalSet    Opcode = 0x24
	OpTableSet     Opcode = 0x26
	OpMemorySize   Opcode = 0x3f
	OpMemoryGrow   Opcode = 0x40
	OpI32Const     Opcode = 0x41
	OpI64Const     Opcode = 0x42
	OpRefFunc      Opcode = 0xd2

	opF32Const  Opcode = 0x43
	opF64Const  Opcode = 0x44
	opRefNull   Opcode = 0xd0
	opV128Const Opcode = prefixVector<<8 | 0x0c

	OpMemoryInit Opcode = prefixMisc<<8 | 8
	OpDataDrop   Opcode = prefixMisc<<8 | 9
	OpMemoryCopy Opcode = prefixMisc<<8 | 10
	OpMemoryFill Opcode = prefixMisc<<8 | 11
	OpTableInit  Opcode = prefixMisc<<8 | 12
	OpElemDrop   Opcode = prefixMisc<<8 | 13
	OpTableCopy  Opcode = prefixMisc<<8 | 14
	OpTableGrow  Opcode = prefixMisc<<8 | 15
	OpTableSize  Opcode = prefixMisc<<8 | 16
	OpTableFill  Opcode = prefixMisc<<8 | 17
)

const (
	prefixGC     = 0xfb
	prefixMisc   = 0xfc
	prefixVector = 0xfd
	prefixAtomic = 0xfe
)

// What follows opcodes. Those of WebAssembly 2.0, and no others, have one.
const (
	noInstruction    = '-'
	noImmediate      = '.'
	immBlockType     = 'b'
	immLabel         = 'l'
	immLabels        = 'L'
	immFunction      = 'f'
	immTypeAndTable  = 'i'
	immVariable      = 'v' // an index that the engine checks
	immGlobal        = 'g'
	immMemArg        = 'm'
	immMemArgAndLane = 'M'
	immZero          = '0'
	immTwoZeros      = '2'
	immI32           = 'c'
	immI64           = 'C'
	imm4Bytes        = '4'
	imm8Bytes        = '8'
	imm16Bytes       = 'w'
	immLane          = 'n'
	immRefType       = 'r'
	immSelectTypes   = 's'
	immIndexAndZero  = 'D'
	immTwoIndexes    = 'T'
	immPrefixed      = 'p'
)

// plainImmediates has 16 opcodes in each line.
const plainImmediates = "" +
	"..bbb.-----.llL." +
	"fi--------..s---" +
	"vvvggvv-mmmmmmmm" +
	"mmmmmmmmmmmmmmm0" +
	"0cC48..........." +
	"................" +
	"................" +
	"................" +
	"................" +
	"................" +
	"................" +
	"................" +
	".....-----------" +
	"r.f-------------" +
	"----------------" +
	"------------pp--"

const miscImmediates = "........Dv20TvTvvv"

const vectorImmediates = "" +
	"mmmmmmmmmmmmww.." +
	".....nnnnnnnnnnn" +
	"nnn............." +
	"................" +
	"................" +
	"....MMMMMMMMmm.." +
	"................" +
	"................" +
	"................" +
	"..........-....." +
	"..-..--........-" +
	"-.---......-...." +
	"..-..--........-" +
	"-.---..........." +
	"..-...........-." +
	"................"
