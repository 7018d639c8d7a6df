// Package bindings connects what a WebAssembly module serves with the host: it takes
// what the host passes in, keeps the answer, and offers the host's interfaces. What a
// module of each world exports is in the packages provider and policy, of which a module
// imports one. Only the guest SDK uses them; they are empty on other platforms. How
// values lie in memory is abi/canon's matter.
package bindings
