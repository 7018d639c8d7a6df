#include "go_asm.h"
#include "textflag.h"

// func extent(in string, pos int) (end int)
//
// It does what extent_other.go does. R0 is the address of the input and R1 its length, R2
// the position and, in the end, the result, and R3 how many items are unread.
TEXT ·extent(SB), NOSPLIT, $0-32
	I64Load in_base+0(FP)
	Set R0
	I64Load in_len+8(FP)
	Set R1
	I64Load pos+16(FP)
	Set R2
	I64Const $1
	Set R3
	Block
		Loop
			Get R2
			Get R1
			I64GeS
			If
				I64Const $const_truncated
				Set R2
				Br $2
			End
			// R4 is the initial byte and R5 the argument.
			Get R0
			Get R2
			I64Add
			I32WrapI64
			I64Load8U $0
			Set R4
			Get R2
			I64Const $1
			I64Add
			Set R2
			Get R4
			I64Const $31
			I64And
			Set R5
			Get R5
			I64Const $24
			I64GeU
			If
				Get R5
				I64Const $27
				I64GtU
				If
					I64Const $const_malformed
					Set R2
					Br $3
				End
				// R6 is how many of its bytes are left.
				I64Const $1
				Get R5
				I64Const $24
				I64Sub
				I64Shl
				Set R6
				Get R1
				Get R2
				I64Sub
				Get R6
				I64LtS
				If
					I64Const $const_truncated
					Set R2
					Br $3
				End
				I64Const $0
				Set R5
				Loop
					Get R5
					I64Const $8
					I64Shl
					Get R0
					Get R2
					I64Add
					I32WrapI64
					I64Load8U $0
					I64Or
					Set R5
					Get R2
					I64Const $1
					I64Add
					Set R2
					Get R6
					I64Const $1
					I64Sub
					Set R6
					Get R6
					I64Eqz
					I32Eqz
					BrIf $0
				End
				Get R5
				I64Const $0x7fffffffffffffff
				I64And
				Set R5
			End
			Get R4
			I64Const $const_majorTag
			I64LtU
			If
				Get R4
				I64Const $const_majorBytes
				I64GeU
				If
					Get R5
					Get R1
					Get R2
					I64Sub
					I64GtU
					If
						I64Const $const_truncated
						Set R2
						Br $4
					End
					Get R4
					I64Const $const_majorArray
					I64LtU
					If
						Get R2
						Get R5
						I64Add
						Set R2
					Else
						// Of an array there are as many items, of an object twice as many.
						Get R3
						Get R5
						Get R4
						I64Const $5
						I64ShrU
						I64Const $1
						I64And
						I64Shl
						I64Add
						Set R3
					End
				End
			Else
				Get R4
				I64Const $const_majorSimple
				I64LtU
				If
					Get R3
					I64Const $1
					I64Add
					Set R3
				End
			End
			Get R3
			I64Const $1
			I64Sub
			Set R3
			Get R3
			I64Eqz
			I32Eqz
			BrIf $0
		End
	End
	Get SP
	Get R2
	I64Store end+24(FP)
	RET
