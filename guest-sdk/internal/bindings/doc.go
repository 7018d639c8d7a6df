// Package bindings connects a provider with the host, inside a WebAssembly module:
// it exports what the contract asks for, and offers the host's interfaces. Only the
// guest SDK uses it; it is empty on other platforms. How values lie in memory is
// abi/canon's matter.
package bindings
