// Package bindings connects the provider or pack of a WebAssembly module with the host: it takes the host's parameters, keeps the
// answer, and offers the host's interfaces. The exports of each world are in the packages provider, policy, and program. A module imports
// one of them. Only the guest SDK uses them; they are empty on other platforms. How values lie in memory is abi/canon's matter.
package bindings
