// Package canon carries the contract's values across the boundary between a host and a WebAssembly
// module: the component model's canonical ABI, for core modules.
//
// Lifting makes a Go value of bytes in linear memory, and lowering does the reverse. Functions
// generated from wit/ serve both sides, each with its own [Memory]: callers use clients
// (NewProvider, NewHTTP, ...), and the other side tables of functions ([Imports], [Server]). A host
// makes a [Guest] of an instance and registers [ImportTable] with its runtime. A guest
// (guest-sdk/internal/bindings) exports a Server.
//
// Nothing from a module's memory is trusted: pointers, lengths, alignment, bools, cases, flags,
// UTF-8, and sizes are checked, and an [Error] names the field. The package is linked into guests
// and uses neither fmt, reflection, nor packages that import them, such as encoding/binary.
//
// See https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md.
package canon
