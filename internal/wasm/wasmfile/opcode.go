package wasmfile

// Opcode names an instruction: its byte, or its prefix and number.
type Opcode uint16

// Opcodes of instructions that the host looks into or writes.
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
	OpDrop         Opcode = 0x1a
	OpLocalGet     Opcode = 0x20
	OpLocalSet     Opcode = 0x21
	OpLocalTee     Opcode = 0x22
	OpGlobalGet    Opcode = 0x23
	OpGlobalSet    Opcode = 0x24
	OpTableSet     Opcode = 0x26
	OpI64Load      Opcode = 0x29
	OpI32Load8U    Opcode = 0x2d
	OpI64Store     Opcode = 0x37
	OpI64Store32   Opcode = 0x3e
	OpMemorySize   Opcode = 0x3f
	OpMemoryGrow   Opcode = 0x40
	OpI32Const     Opcode = 0x41
	OpI64Const     Opcode = 0x42
	opF32Const     Opcode = 0x43
	opF64Const     Opcode = 0x44
	OpRefNull      Opcode = 0xd0
	OpRefFunc      Opcode = 0xd2
)

// Opcodes of integers. The comparisons of a size follow each other.
const (
	OpI32Eqz Opcode = iota + 0x45
	OpI32Eq
	OpI32Ne
	OpI32LtS
	OpI32LtU
	OpI32GtS
	OpI32GtU
	OpI32LeS
	OpI32LeU
	OpI32GeS
	OpI32GeU
	OpI64Eqz
	OpI64Eq
	OpI64Ne
	OpI64LtS
	OpI64LtU
	OpI64GtS
	OpI64GtU
	OpI64LeS
	OpI64LeU
	OpI64GeS
	OpI64GeU

	OpI32Add        Opcode = 0x6a
	OpI32Sub        Opcode = 0x6b
	OpI32And        Opcode = 0x71
	OpI64Add        Opcode = 0x7c
	OpI64Sub        Opcode = 0x7d
	OpI64Mul        Opcode = 0x7e
	OpI64Shl        Opcode = 0x86
	OpI64ShrU       Opcode = 0x88
	OpI32WrapI64    Opcode = 0xa7
	OpI64ExtendI32U Opcode = 0xad
)

// Opcodes with a prefix.
const (
	OpMemoryInit Opcode = iota + prefixMisc<<8 + 8
	OpDataDrop
	OpMemoryCopy
	OpMemoryFill
	OpTableInit
	OpElemDrop
	OpTableCopy
	OpTableGrow
	OpTableSize
	OpTableFill

	OpVectorLoad  Opcode = prefixVector << 8
	OpVectorStore Opcode = prefixVector<<8 | 0x0b
	OpVectorConst Opcode = prefixVector<<8 | 0x0c
	OpVectorSplat Opcode = prefixVector<<8 | 0x0f
)

const (
	prefixGC     = 0xfb
	prefixMisc   = 0xfc
	prefixVector = 0xfd
	prefixAtomic = 0xfe
)

// The kinds of immediates of opcodes. Those of WebAssembly 2.0, and no others, have one.
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
