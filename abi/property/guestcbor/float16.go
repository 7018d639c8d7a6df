package guestcbor

import "math"

// Half-precision floats (IEEE 754 binary16): 1 bit sign, 5 bits exponent with
// bias 15, 10 bits fraction. Singles have 8 bits with bias 127, and 23 bits.

// halfOfSingle returns the bits of the half that is exactly the single b, which is not NaN.
func halfOfSingle(b uint32) (half uint16, ok bool) {
	sign := uint16(b >> 16 & 0x8000)
	fraction := b & (1<<23 - 1)
	switch exponent := int(b>>23&0xff) - 127; {
	case exponent == -127: // zero; subnormal singles are too small for halves
		return sign, fraction == 0
	case exponent == 128: // infinity
		return sign | 0x7c00, true
	case exponent > 15 || exponent < -24:
		return 0, false
	case exponent >= -14:
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>13), fraction&(1<<13-1) == 0
	default: // subnormal: units of 2^-24
		fraction |= 1 << 23
		shift := uint(-1 - exponent)
		return sign | uint16(fraction>>shift), fraction&(1<<shift-1) == 0
	}
}

// floatOfHalf returns the value of the half with the bits h. All encodings of NaN give NaN.
func floatOfHalf(h uint16) float64 {
	sign := uint64(h&0x8000) << 48
	exponent := uint64(h >> 10 & 0x1f)
	fraction := uint64(h & 0x3ff)
	switch exponent {
	case 0: // zero and subnormal: units of 2^-24
		return math.Float64frombits(sign | math.Float64bits(float64(fraction)*0x1p-24))
	case 31:
		return math.Float64frombits(sign | 0x7ff<<52 | fraction<<42)
	default:
		return math.Float64frombits(sign | (exponent+1023-15)<<52 | fraction<<42)
	}
}

// floatOfBits returns the float of size 2, 4, or 8 bytes, and reports whether no shorter form holds
// it.
func floatOfBits(bits uint64, size int) (f float64, shortest bool) {
	switch size {
	case 2:
		f = floatOfHalf(uint16(bits))
		return f, f == f || bits == 0x7e00
	case 4:
		f = float64(math.Float32frombits(uint32(bits)))
		_, half := halfOfSingle(uint32(bits))
		return f, f == f && !half
	default:
		f = math.Float64frombits(bits)
		return f, f == f && float64(float32(f)) != f
	}
}
