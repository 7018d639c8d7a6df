// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package policy

import "github.com/husk-dev/husk/guest-sdk/internal/bindings"

//go:wasmexport husk:policy/policy@0.1.0#handshake
func exportHandshake(p0, p1 uint32) uint32 {
	return bindings.Answer(serve, 0, uint64(p0), uint64(p1))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#handshake
func postHandshake(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#configure
func exportConfigure(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 uint32) uint32 {
	return bindings.Answer(serve, 1, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#configure
func postConfigure(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#remediate
func exportRemediate(p0 uint32) uint32 {
	return bindings.Answer(serve, 2, uint64(p0))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#remediate
func postRemediate(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#analyze
func exportAnalyze(p0 uint32) uint32 {
	return bindings.Answer(serve, 3, uint64(p0))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#analyze
func postAnalyze(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#analyze-stack
func exportAnalyzeStack(p0, p1 uint32) uint32 {
	return bindings.Answer(serve, 4, uint64(p0), uint64(p1))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#analyze-stack
func postAnalyzeStack(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#cancel
func exportCancel() uint32 {
	return bindings.Answer(serve, 5)
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#cancel
func postCancel(uint32) { bindings.Release() }
