// Package abi is the contract between providers and their hosts, in Go: [Provider], the one interface, and the types of its
// requests and responses. All of it is generated from the WIT package in wit/, which is the source of truth for every language.
// Only [Error] and [Unimplemented] are Go's own additions.
//
// A provider author implements Provider, package host returns it for a loaded WebAssembly module,
// and the engine calls it.
//
// The package is linked into guests and uses neither fmt nor reflection. Package abi/canon defines
// the form of values in a module's memory.
package abi

//go:generate go run ./internal/witgen ..
