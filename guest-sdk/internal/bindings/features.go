//go:build wasip1

package bindings

// These exports announce features that modules of an earlier SDK for the same version of the contract do not know.

//go:wasmexport husk:feature/read-first
func announceReadFirst() {}
