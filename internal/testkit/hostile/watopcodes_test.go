package hostile_test

import (
	"strings"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// operands are what follows an instruction's name.
type operands int

const (
	noOperands operands = iota
	zeroByte
	twoZeros
	aLabel
	labels
	aFunction
	aTypeAndTable
	aLocal
	aGlobal
	aTable
	twoTables
	aSegmentAndTable
	aSegmentAndZero
	aDataSegment
	anElementSegment
	aHeapType
	anI32
	anI64
	anF32
	anF64
	// accesses is for a memory argument that is not aligned; one more for each doubling.
	accesses
)

type opcode struct {
	code string
	operands
}

// opcodes are all instructions but those that make blocks.
var opcodes = allOpcodes()

// What loads and stores access is aligned to 1<<digit bytes: the digit after the name.
const memoryInstructions = "i32.load2 i64.load3 f32.load2 f64.load3 i32.load8_s0 i32.load8_u0 i32.load16_s1 i32.load16_u1 " +
	"i64.load8_s0 i64.load8_u0 i64.load16_s1 i64.load16_u1 i64.load32_s2 i64.load32_u2 " +
	"i32.store2 i64.store3 f32.store2 f64.store3 i32.store80 i32.store161 i64.store80 i64.store161 i64.store322"

// Instructions without operands from 0x45 on, in their order.
const numericInstructions = "i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u " +
	"i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u " +
	"f32.eq f32.ne f32.lt f32.gt f32.le f32.ge f64.eq f64.ne f64.lt f64.gt f64.le f64.ge " +
	"i32.clz i32.ctz i32.popcnt i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u " +
	"i32.and i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr " +
	"i64.clz i64.ctz i64.popcnt i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u " +
	"i64.and i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr " +
	"f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign " +
	"f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign " +
	"i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u " +
	"i64.extend_i32_s i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u " +
	"f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64 " +
	"f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32 " +
	"i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64 " +
	"i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s"

// Instructions without operands after the prefix 0xfc, in their order.
const saturatingInstructions = "i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u " +
	"i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u"

func allOpcodes() map[string]opcode {
	all := map[string]opcode{
		"unreachable": {"\x00", noOperands}, "nop": {"\x01", noOperands},
		"br": {"\x0c", aLabel}, "br_if": {"\x0d", aLabel}, "br_table": {"\x0e", labels}, "return": {"\x0f", noOperands},
		"call": {"\x10", aFunction}, "call_indirect": {"\x11", aTypeAndTable},
		"return_call": {"\x12", aFunction}, "return_call_indirect": {"\x13", aTypeAndTable},
		"drop": {"\x1a", noOperands}, "select": {"\x1b", noOperands},
		"local.get": {"\x20", aLocal}, "local.set": {"\x21", aLocal}, "local.tee": {"\x22", aLocal},
		"global.get": {"\x23", aGlobal}, "global.set": {"\x24", aGlobal},
		"table.get": {"\x25", aTable}, "table.set": {"\x26", aTable},
		"memory.size": {"\x3f", zeroByte}, "memory.grow": {"\x40", zeroByte},
		"i32.const": {"\x41", anI32}, "i64.const": {"\x42", anI64}, "f32.const": {"\x43", anF32}, "f64.const": {"\x44", anF64},
		"ref.null": {"\xd0", aHeapType}, "ref.is_null": {"\xd1", noOperands}, "ref.func": {"\xd2", aFunction},
		"memory.init": {"\xfc\x08", aSegmentAndZero}, "data.drop": {"\xfc\x09", aDataSegment},
		"memory.copy": {"\xfc\x0a", twoZeros}, "memory.fill": {"\xfc\x0b", zeroByte},
		"table.init": {"\xfc\x0c", aSegmentAndTable}, "elem.drop": {"\xfc\x0d", anElementSegment},
		"table.copy": {"\xfc\x0e", twoTables}, "table.grow": {"\xfc\x0f", aTable},
		"table.size": {"\xfc\x10", aTable}, "table.fill": {"\xfc\x11", aTable},
	}
	for i, text := range strings.Fields(memoryInstructions) {
		last := len(text) - 1
		all[text[:last]] = opcode{string([]byte{byte(0x28 + i)}), accesses + operands(text[last]-'0')}
	}
	for i, name := range strings.Fields(numericInstructions) {
		all[name] = opcode{string([]byte{byte(0x45 + i)}), noOperands}
	}
	for i, name := range strings.Fields(saturatingInstructions) {
		all[name] = opcode{"\xfc" + wasmtest.Unsigned(uint64(i)), noOperands}
	}
	return all
}
