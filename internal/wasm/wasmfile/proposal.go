package wasmfile

import "fmt"

// proposal is an extension of WebAssembly that no module may use.
type proposal struct {
	// name is the name of the proposal, which toolchains use, too.
	name string
	// what names the used feature in plain words.
	what string
	// instead says what to do about it.
	instead string
}

var (
	tailCalls      = proposal{"tail-call", "tail calls", without("tail-call")}
	exceptions     = proposal{"exception-handling", "exceptions", "build it with -fno-exceptions (clang, Emscripten) or -C panic=abort (Rust)"}
	references     = proposal{"function-references", "typed function references", ownMemory}
	collection     = proposal{"gc", "garbage collection", ownMemory}
	ownGlobals     = proposal{"gc", "constants that are the value of one of its globals", "give each global and segment a number"}
	descriptors    = proposal{"custom-descriptors", "types with descriptors", ownMemory}
	strings        = proposal{"stringref", "references to strings", ownMemory}
	threads        = proposal{"threads", "threads", singleThread}
	sharing        = proposal{"shared-everything-threads", "threads that share more than memory", singleThread}
	stackSwitching = proposal{"stack-switching", "stack switching", "build it for an engine with one stack"}
	relaxedVectors = proposal{"relaxed-simd", "relaxed vector instructions", without("relaxed-simd")}
	halfPrecision  = proposal{"half-precision", "numbers of 16 bits in floating point", "build it with -mno-fp16 (clang, Emscripten)"}
	wideArithmetic = proposal{"wide-arithmetic", "arithmetic of 128 bits", without("wide-arithmetic")}
	memoryControl  = proposal{"memory-control", "memory that is given back", "build it without memory.discard"}
	memory64       = proposal{"memory64", "memories or tables of 64 bits", "build it for wasm32, and not for wasm64"}
	multiMemory    = proposal{"multi-memory", "more than one memory", "build it with -mno-multimemory (clang, Emscripten), or put its memories into one with wasm-opt --multi-memory-lowering"}
	pageSizes      = proposal{"custom-page-sizes", "pages of another size than 64 KiB", "link it without --page-size"}
	extendedConst  = proposal{"extended-const", "constants that are computed", without("extended-const")}
	compactImports = proposal{"compact-import-section", "imports in groups", "write one import after the other"}
)

const (
	ownMemory = "its compiler relies on the engine's garbage collector, like the compilers of Kotlin, Dart, and OCaml: " +
		"write it in a language that manages its memory itself, such as Go, Rust, C, or Zig"
	singleThread = "build it for one thread: without -pthread and -matomics (clang), with -C target-feature=-atomics (Rust)"
)

// without is how to turn off a feature of LLVM that Rust knows, too.
func without(feature string) string {
	return fmt.Sprintf("build it with -mno-%s (clang, Emscripten) or -C target-feature=-%s (Rust)", feature, feature)
}

// ofInstruction returns the proposal of an unknown instruction: its first byte, and the number after
// it if that is a prefix.
func ofInstruction(first byte, second uint32) (proposal, bool) {
	switch {
	case first == 0x12 || first == 0x13:
		return tailCalls, true
	case first >= 0x06 && first <= 0x0a || first == 0x18 || first == 0x19 || first == 0x1f:
		return exceptions, true
	case first == 0x14 || first == 0x15 || first >= 0xd4 && first <= 0xd6:
		return references, true
	case first == prefixGC && second >= 0x80:
		return strings, true
	case first == prefixGC || first == 0xd3:
		return collection, true
	case first >= 0xe0 && first <= 0xe6:
		return stackSwitching, true
	case first == prefixAtomic && second >= 0x4f:
		return sharing, true
	case first == prefixAtomic:
		return threads, true
	case first == prefixVector && second >= 0x120 || first == prefixMisc && (second == 0x30 || second == 0x31):
		return halfPrecision, true
	case first == prefixVector && second >= 0x100:
		return relaxedVectors, true
	case first == prefixMisc && second == 0x12:
		return memoryControl, true
	case first == prefixMisc && second >= 0x13 && second <= 0x16:
		return wideArithmetic, true
	}
	return proposal{}, false
}

// ofValueType returns the proposal of an unknown value type by its first two bytes.
func ofValueType(first, next byte) (proposal, bool) {
	if first == 0x63 || first == 0x64 { // a reference to the next type
		if p, known := ofValueType(next, 0); known {
			return p, true
		}
		return references, true
	}
	switch first {
	case 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x71, 0x72, 0x73:
		return collection, true
	case 0x69, 0x74:
		return exceptions, true
	case 0x68, 0x75:
		return stackSwitching, true
	case 0x67:
		return strings, true
	case 0x65:
		return sharing, true
	}
	return proposal{}, false
}

// ofForm returns the proposal of a type that is not a function type.
func ofForm(form byte) (proposal, bool) {
	switch form {
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
		return collection, true
	case 0x4c, 0x4d:
		return descriptors, true
	case 0x5d:
		return stackSwitching, true
	case 0x65:
		return sharing, true
	}
	return proposal{}, false
}
