#include "go_asm.h"
#include "textflag.h"

// What is read of a text lies within it. The loads of one block have one address, which is
// in PC_B, the only register of 32 bits, so that a compiler checks once that it is within
// the memory: a function that is never resumed does not need it.

// func equalText(a, b string) bool
TEXT ·equalText(SB), NOSPLIT, $0-33
	I64Load a_base+0(FP)
	Set R0
	I64Load b_base+16(FP)
	Set R1
	I64Load a_len+8(FP)
	Set R2
	// R3 is 0 where the texts are equal.
	I64Const $0
	Set R3
	Block
		Get R0
		Get R1
		I64Eq
		BrIf $0
		Get R2
		I64Const $8
		I64LtU
		If
			Get R2
			I64Const $4
			I64GeU
			If
				// Two words, which overlap but for a text of 8.
				Get R0
				I32WrapI64
				I64Load32U $0
				Get R1
				I32WrapI64
				I64Load32U $0
				I64Xor
				Get R0
				Get R2
				I64Add
				I64Const $4
				I64Sub
				I32WrapI64
				I64Load32U $0
				Get R1
				Get R2
				I64Add
				I64Const $4
				I64Sub
				I32WrapI64
				I64Load32U $0
				I64Xor
				I64Or
				Set R3
				Br $2
			End
			Get R2
			I64Eqz
			BrIf $1
			// The first byte, the middle one, and the last.
			Get R0
			I32WrapI64
			I64Load8U $0
			Get R1
			I32WrapI64
			I64Load8U $0
			I64Xor
			Get R2
			I64Const $1
			I64ShrU
			Set R4
			Get R0
			Get R4
			I64Add
			I32WrapI64
			I64Load8U $0
			Get R1
			Get R4
			I64Add
			I32WrapI64
			I64Load8U $0
			I64Xor
			I64Or
			Get R2
			I64Const $1
			I64Sub
			Set R4
			Get R0
			Get R4
			I64Add
			I32WrapI64
			I64Load8U $0
			Get R1
			Get R4
			I64Add
			I32WrapI64
			I64Load8U $0
			I64Xor
			I64Or
			Set R3
			Br $1
		End
		// 32 bytes at a time.
		Block
			Loop
				Get R2
				I64Const $32
				I64LtU
				BrIf $1
				Get R0
				I32WrapI64
				Set PC_B
				Get PC_B
				I64Load $24
				Set R4
				Get PC_B
				I64Load $16
				Set R5
				Get PC_B
				I64Load $8
				Set R6
				Get PC_B
				I64Load $0
				Set R7
				Get R1
				I32WrapI64
				Set PC_B
				Get PC_B
				I64Load $24
				Get R4
				I64Xor
				Get PC_B
				I64Load $16
				Get R5
				I64Xor
				I64Or
				Get PC_B
				I64Load $8
				Get R6
				I64Xor
				I64Or
				Get PC_B
				I64Load $0
				Get R7
				I64Xor
				I64Or
				Set R3
				Get R3
				I64Eqz
				I32Eqz
				BrIf $2
				Get R0
				I64Const $32
				I64Add
				Set R0
				Get R1
				I64Const $32
				I64Add
				Set R1
				Get R2
				I64Const $32
				I64Sub
				Set R2
				Br $0
			End
		End
		I64Const $0
		Set R3
		Block
			Loop
				Get R2
				I64Const $8
				I64LeU
				BrIf $1
				Get R0
				I32WrapI64
				I64Load $0
				Get R1
				I32WrapI64
				I64Load $0
				I64Xor
				Get R3
				I64Or
				Set R3
				Get R0
				I64Const $8
				I64Add
				Set R0
				Get R1
				I64Const $8
				I64Add
				Set R1
				Get R2
				I64Const $8
				I64Sub
				Set R2
				Br $0
			End
		End
		// The last eight, of which some may have been compared.
		Get R0
		Get R2
		I64Add
		I64Const $8
		I64Sub
		I32WrapI64
		I64Load $0
		Get R1
		Get R2
		I64Add
		I64Const $8
		I64Sub
		I32WrapI64
		I64Load $0
		I64Xor
		Get R3
		I64Or
		Set R3
	End
	Get SP
	Get R3
	I64Eqz
	I64ExtendI32U
	I64Store8 ret+32(FP)
	RET

// func CompareText(a, b string) int
TEXT ·CompareText(SB), NOSPLIT, $0-40
	I64Load a_base+0(FP)
	Set R0
	I64Load a_len+8(FP)
	Set R5
	I64Load b_base+16(FP)
	Set R1
	I64Load b_len+24(FP)
	Set R6
	Get R5
	Get R6
	Get R5
	Get R6
	I64LtU
	Select
	Set R2
	// R3 and R4 are words of the texts at one place, of which the bytes before are equal.
	I64Const $0
	Set R3
	I64Const $0
	Set R4
	Block
		Get R0
		Get R1
		I64Eq
		BrIf $0
		Get R2
		I64Const $8
		I64LtU
		If
			Get R2
			I64Const $4
			I64GeU
			If
				// Two halves, which overlap.
				Get R0
				Get R2
				I64Add
				I64Const $4
				I64Sub
				I32WrapI64
				I64Load32U $0
				I64Const $32
				I64Shl
				Get R0
				I32WrapI64
				I64Load32U $0
				I64Or
				Set R3
				Get R1
				Get R2
				I64Add
				I64Const $4
				I64Sub
				I32WrapI64
				I64Load32U $0
				I64Const $32
				I64Shl
				Get R1
				I32WrapI64
				I64Load32U $0
				I64Or
				Set R4
				Br $2
			End
			Get R2
			I64Eqz
			BrIf $1
			// The first byte, the middle one, and the last: some may be the same.
			Get R0
			I32WrapI64
			I64Load8U $0
			Get R0
			Get R2
			I64Const $1
			I64ShrU
			I64Add
			I32WrapI64
			I64Load8U $0
			I64Const $8
			I64Shl
			I64Or
			Get R0
			Get R2
			I64Add
			I64Const $1
			I64Sub
			I32WrapI64
			I64Load8U $0
			I64Const $16
			I64Shl
			I64Or
			Set R3
			Get R1
			I32WrapI64
			I64Load8U $0
			Get R1
			Get R2
			I64Const $1
			I64ShrU
			I64Add
			I32WrapI64
			I64Load8U $0
			I64Const $8
			I64Shl
			I64Or
			Get R1
			Get R2
			I64Add
			I64Const $1
			I64Sub
			I32WrapI64
			I64Load8U $0
			I64Const $16
			I64Shl
			I64Or
			Set R4
			Br $1
		End
		Block
			Loop
				Get R2
				I64Const $8
				I64LeU
				BrIf $1
				Get R0
				I32WrapI64
				I64Load $0
				Set R3
				Get R1
				I32WrapI64
				I64Load $0
				Set R4
				Get R3
				Get R4
				I64Ne
				BrIf $2
				Get R0
				I64Const $8
				I64Add
				Set R0
				Get R1
				I64Const $8
				I64Add
				Set R1
				Get R2
				I64Const $8
				I64Sub
				Set R2
				Br $0
			End
		End
		// The last eight, of which some may have been compared.
		Get R0
		Get R2
		I64Add
		I64Const $8
		I64Sub
		I32WrapI64
		I64Load $0
		Set R3
		Get R1
		Get R2
		I64Add
		I64Const $8
		I64Sub
		I32WrapI64
		I64Load $0
		Set R4
	End
	Get R3
	Get R4
	I64Eq
	If
		Get R5
		Get R6
		I64Sub
		Set R7
	Else
		// The first byte that differs has the lowest bits, for memory is little-endian.
		Get R3
		Get R4
		I64Xor
		I64Ctz
		I64Const $56
		I64And
		Set R8
		Get R3
		Get R8
		I64ShrU
		I64Const $255
		I64And
		Get R4
		Get R8
		I64ShrU
		I64Const $255
		I64And
		I64Sub
		Set R7
	End
	Get SP
	Get R7
	I64Store ret+32(FP)
	RET

// func isASCII(s string) bool
TEXT ·isASCII(SB), NOSPLIT, $0-17
	I64Load s_base+0(FP)
	Set R0
	I64Load s_len+8(FP)
	Set R1
	// R2 has all bits that a byte has.
	I64Const $0
	Set R2
	Block
		Get R1
		I64Const $8
		I64LtU
		If
			Get R1
			I64Const $4
			I64GeU
			If
				Get R0
				I32WrapI64
				I64Load32U $0
				Get R0
				Get R1
				I64Add
				I64Const $4
				I64Sub
				I32WrapI64
				I64Load32U $0
				I64Or
				Set R2
				Br $2
			End
			Get R1
			I64Eqz
			BrIf $1
			Get R0
			I32WrapI64
			I64Load8U $0
			Get R0
			Get R1
			I64Const $1
			I64ShrU
			I64Add
			I32WrapI64
			I64Load8U $0
			I64Or
			Get R0
			Get R1
			I64Add
			I64Const $1
			I64Sub
			I32WrapI64
			I64Load8U $0
			I64Or
			Set R2
			Br $1
		End
		Block
			Loop
				Get R1
				I64Const $32
				I64LtU
				BrIf $1
				Get R0
				I32WrapI64
				Set PC_B
				Get PC_B
				I64Load $24
				Get PC_B
				I64Load $16
				I64Or
				Get PC_B
				I64Load $8
				I64Or
				Get PC_B
				I64Load $0
				I64Or
				Set R2
				Get R2
				I64Const $0x8080808080808080
				I64And
				I64Eqz
				I32Eqz
				BrIf $2
				Get R0
				I64Const $32
				I64Add
				Set R0
				Get R1
				I64Const $32
				I64Sub
				Set R1
				Br $0
			End
		End
		Block
			Loop
				Get R1
				I64Const $8
				I64LeU
				BrIf $1
				Get R0
				I32WrapI64
				I64Load $0
				Get R2
				I64Or
				Set R2
				Get R0
				I64Const $8
				I64Add
				Set R0
				Get R1
				I64Const $8
				I64Sub
				Set R1
				Br $0
			End
		End
		Get R0
		Get R1
		I64Add
		I64Const $8
		I64Sub
		I32WrapI64
		I64Load $0
		Get R2
		I64Or
		Set R2
	End
	Get SP
	Get R2
	I64Const $0x8080808080808080
	I64And
	I64Eqz
	I64ExtendI32U
	I64Store8 ret+16(FP)
	RET

// func IndexText(first *string, stride uintptr, n int, text string) int
TEXT ·IndexText(SB), NOSPLIT, $0-48
	I64Load first+0(FP)
	Set R0
	I64Load n+16(FP)
	Set R1
	I64Load text_base+24(FP)
	Set R2
	I64Load text_len+32(FP)
	Set R3
	// R4 is the place of the text at R0.
	I64Const $0
	Set R4
	Block
		Loop
			Get R4
			Get R1
			I64GeS
			If
				I64Const $-1
				Set R4
				Br $2
			End
			Get R0
			I32WrapI64
			I64Load $8
			Get R3
			I64Eq
			If
				// R5 and R6 are where the texts are still to be compared, and R7 is how much
				// of them. R8 is 0 while they are equal.
				Get R0
				I32WrapI64
				I64Load $0
				Set R5
				Get R2
				Set R6
				Get R3
				Set R7
				I64Const $0
				Set R8
				Block
					Loop
						Get R7
						I64Const $8
						I64LtU
						BrIf $1
						Get R5
						I32WrapI64
						I64Load $0
						Get R6
						I32WrapI64
						I64Load $0
						I64Xor
						Get R8
						I64Or
						Set R8
						Get R5
						I64Const $8
						I64Add
						Set R5
						Get R6
						I64Const $8
						I64Add
						Set R6
						Get R7
						I64Const $8
						I64Sub
						Set R7
						Br $0
					End
				End
				Get R7
				I64Const $4
				I64And
				I64Eqz
				I32Eqz
				If
					Get R5
					I32WrapI64
					I64Load32U $0
					Get R6
					I32WrapI64
					I64Load32U $0
					I64Xor
					Get R8
					I64Or
					Set R8
					Get R5
					I64Const $4
					I64Add
					Set R5
					Get R6
					I64Const $4
					I64Add
					Set R6
				End
				Get R7
				I64Const $2
				I64And
				I64Eqz
				I32Eqz
				If
					Get R5
					I32WrapI64
					I64Load16U $0
					Get R6
					I32WrapI64
					I64Load16U $0
					I64Xor
					Get R8
					I64Or
					Set R8
					Get R5
					I64Const $2
					I64Add
					Set R5
					Get R6
					I64Const $2
					I64Add
					Set R6
				End
				Get R7
				I64Const $1
				I64And
				I64Eqz
				I32Eqz
				If
					Get R5
					I32WrapI64
					I64Load8U $0
					Get R6
					I32WrapI64
					I64Load8U $0
					I64Xor
					Get R8
					I64Or
					Set R8
				End
				Get R8
				I64Eqz
				BrIf $2
			End
			Get R0
			I64Load stride+8(FP)
			I64Add
			Set R0
			Get R4
			I64Const $1
			I64Add
			Set R4
			Br $0
		End
	End
	Get SP
	Get R4
	I64Store ret+40(FP)
	RET

// func seekKey(entries []Entry, from int, key string) int
TEXT ·seekKey(SB), NOSPLIT, $0-56
	I64Load entries_len+8(FP)
	Set R1
	I64Load key_base+32(FP)
	Set R2
	I64Load key_len+40(FP)
	Set R3
	// R4 is the place of the entry at R0.
	I64Load from+24(FP)
	Set R4
	I64Load entries_base+0(FP)
	Get R4
	I64Const $Entry__size
	I64Mul
	I64Add
	Set R0
	Block
		Loop
			// R5 is less than 0 where the entry's key comes first, and 0 where it is the key.
			I64Const $1
			Set R5
			Block
				Get R4
				Get R1
				I64GeS
				BrIf $0
				Get R0
				I32WrapI64
				I64Load $8
				Get R3
				I64Sub
				Set R5
				Get R5
				I64Eqz
				I32Eqz
				BrIf $0
				// R6 and R7 are where the keys are still to be compared, and R8 is how much of
				// them. R9 is 0 while they are equal.
				Get R0
				I32WrapI64
				I64Load $0
				Set R6
				Get R2
				Set R7
				Get R3
				Set R8
				I64Const $0
				Set R9
				Block
					Loop
						Get R8
						I64Const $8
						I64LtU
						BrIf $1
						Get R6
						I32WrapI64
						I64Load $0
						Get R7
						I32WrapI64
						I64Load $0
						I64Xor
						Get R9
						I64Or
						Set R9
						Get R6
						I64Const $8
						I64Add
						Set R6
						Get R7
						I64Const $8
						I64Add
						Set R7
						Get R8
						I64Const $8
						I64Sub
						Set R8
						Br $0
					End
				End
				Get R8
				I64Const $4
				I64And
				I64Eqz
				I32Eqz
				If
					Get R6
					I32WrapI64
					I64Load32U $0
					Get R7
					I32WrapI64
					I64Load32U $0
					I64Xor
					Get R9
					I64Or
					Set R9
					Get R6
					I64Const $4
					I64Add
					Set R6
					Get R7
					I64Const $4
					I64Add
					Set R7
				End
				Get R8
				I64Const $2
				I64And
				I64Eqz
				I32Eqz
				If
					Get R6
					I32WrapI64
					I64Load16U $0
					Get R7
					I32WrapI64
					I64Load16U $0
					I64Xor
					Get R9
					I64Or
					Set R9
					Get R6
					I64Const $2
					I64Add
					Set R6
					Get R7
					I64Const $2
					I64Add
					Set R7
				End
				Get R8
				I64Const $1
				I64And
				I64Eqz
				I32Eqz
				If
					Get R6
					I32WrapI64
					I64Load8U $0
					Get R7
					I32WrapI64
					I64Load8U $0
					I64Xor
					Get R9
					I64Or
					Set R9
				End
				Get R9
				I64Eqz
				BrIf $0
				// They differ: the first byte that does tells how.
				Get R0
				I32WrapI64
				I64Load $0
				Set R6
				Get R2
				Set R7
				Loop
					Get R6
					I32WrapI64
					I64Load8U $0
					Get R7
					I32WrapI64
					I64Load8U $0
					I64Sub
					Set R5
					Get R6
					I64Const $1
					I64Add
					Set R6
					Get R7
					I64Const $1
					I64Add
					Set R7
					Get R5
					I64Eqz
					BrIf $0
				End
			End
			Get R5
			I64Const $0
			I64GeS
			BrIf $1
			Get R0
			I64Const $Entry__size
			I64Add
			Set R0
			Get R4
			I64Const $1
			I64Add
			Set R4
			Br $0
		End
	End
	Get SP
	Get R4
	I64Const $-1
	Get R4
	I64Sub
	Get R5
	I64Eqz
	Select
	I64Store ret+48(FP)
	RET
