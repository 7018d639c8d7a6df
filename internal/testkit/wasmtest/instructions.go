package wasmtest

// Instructions without operands in the code.
const (
	Unreachable = "\x00"
	Nop         = "\x01"
	Else        = "\x05"
	End         = "\x0b"
	Return      = "\x0f"
	Drop        = "\x1a"
	Select      = "\x1b"

	I32Load  = "\x28\x02\x00"
	I32Store = "\x36\x02\x00"

	MemoryGrow = "\x40\x00"
	MemoryCopy = "\xfc\x0a\x00\x00"
	MemoryFill = "\xfc\x0b\x00"

	I32Eqz  = "\x45"
	I32Eq   = "\x46"
	I32LtU  = "\x49"
	I32Add  = "\x6a"
	I32Sub  = "\x6b"
	I32Mul  = "\x6c"
	I32DivS = "\x6d"
	I32And  = "\x71"
	I64Eqz  = "\x50"
	I64Add  = "\x7c"
	I64Sub  = "\x7d"

	I32WrapI64    = "\xa7"
	I64ExtendI32S = "\xac"
	I64ExtendI32U = "\xad"
)

// Blocks without a value.
const (
	Block = "\x02\x40"
	Loop  = "\x03\x40"
	If    = "\x04\x40"
)

// I32Const pushes a number.
func I32Const(v int32) string { return "\x41" + Signed(int64(v)) }

// I64Const pushes a number.
func I64Const(v int64) string { return "\x42" + Signed(v) }

// Call calls a function.
func Call(function uint32) string { return "\x10" + Unsigned(uint64(function)) }

// CallIndirect calls the function of a type in the first table.
func CallIndirect(typ uint32) string { return "\x11" + Unsigned(uint64(typ)) + "\x00" }

// Br leaves so many blocks, and one more; BrIf does if there is a number but 0.
func Br(depth uint32) string   { return "\x0c" + Unsigned(uint64(depth)) }
func BrIf(depth uint32) string { return "\x0d" + Unsigned(uint64(depth)) }

// Accesses to variables.
func LocalGet(i uint32) string  { return "\x20" + Unsigned(uint64(i)) }
func LocalSet(i uint32) string  { return "\x21" + Unsigned(uint64(i)) }
func LocalTee(i uint32) string  { return "\x22" + Unsigned(uint64(i)) }
func GlobalGet(i uint32) string { return "\x23" + Unsigned(uint64(i)) }
func GlobalSet(i uint32) string { return "\x24" + Unsigned(uint64(i)) }

// RefFunc pushes a reference to a function.
func RefFunc(function uint32) string { return "\xd2" + Unsigned(uint64(function)) }

// TableGrow and TableFill are for the first table.
const (
	TableGrow = "\xfc\x0f\x00"
	TableFill = "\xfc\x11\x00"
	RefNull   = "\xd0" + Funcref
)
