// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package policy

import "github.com/husk-dev/husk/guest-sdk/internal/bindings"

//go:wasmexport husk:policy/policy@0.1.0#handshake
func exportHandshake(p0, p1 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	return answer(0, p.Record(8))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#handshake
func postHandshake(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#configure
func exportConfigure(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put32(16, p4)
	p.Put32(20, p5)
	p.Put32(24, p6)
	p.Put32(28, p7)
	p.Put8(32, p8)
	p.Put32(36, p9)
	p.Put32(40, p10)
	p.Put32(44, p11)
	return answer(1, p.Record(48))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#configure
func postConfigure(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#remediate
func exportRemediate(p0 uint32) uint32 {
	return answer(2, bindings.Spilled(p0, 288))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#remediate
func postRemediate(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#analyze
func exportAnalyze(p0 uint32) uint32 {
	return answer(3, bindings.Spilled(p0, 288))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#analyze
func postAnalyze(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#analyze-stack
func exportAnalyzeStack(p0, p1 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	return answer(4, p.Record(8))
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#analyze-stack
func postAnalyzeStack(uint32) { bindings.Release() }

//go:wasmexport husk:policy/policy@0.1.0#cancel
func exportCancel() uint32 {
	return answer(5, nil)
}

//go:wasmexport cabi_post_husk:policy/policy@0.1.0#cancel
func postCancel(uint32) { bindings.Release() }
