// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package program

import "github.com/husk-dev/husk/guest-sdk/internal/bindings"

//go:wasmexport husk:program/program@0.1.0#run
func exportRun(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put32(16, p4)
	p.Put32(20, p5)
	p.Put32(24, p6)
	p.Put32(28, p7)
	p.Put32(32, p8)
	p.Put32(36, p9)
	p.Put8(40, p10)
	p.Put32(44, p11)
	p.Put32(48, p12)
	p.Put32(52, p13)
	return answer(0, p.Record(56))
}

//go:wasmexport cabi_post_husk:program/program@0.1.0#run
func postRun(uint32) { bindings.Release() }
