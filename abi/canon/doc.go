// Package canon carries the contract's values across the boundary between a host
// and a WebAssembly module: the component model's canonical ABI, for core modules.
//
// Lifting makes a Go value of bytes in the module's linear memory, lowering does the
// reverse. One set of functions, generated from wit/, serves both sides; each side
// brings its own [Memory]. Whoever calls uses a client (NewProvider, NewHTTP, ...),
// whoever answers uses a table of functions ([Imports], [Server]).
//
//   - A host makes a [Guest] of an instance, which is an abi.Provider, and registers
//     [ImportTable] with its WebAssembly runtime.
//   - A guest (guest-sdk/internal/bindings) exports what a Server answers, and
//     gets the host's interfaces from the clients.
//
// All that is read from a module's memory is distrusted: pointers, lengths,
// alignment, bools, cases, flags, UTF-8, and the number of bytes are checked, and
// what fails is an [Error] that names the field. The package knows no WebAssembly
// runtime and no encoding of properties, and as it is linked into guests it uses
// neither fmt, reflection, nor packages that import them (such as encoding/binary).
//
// See https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md.
package canon
