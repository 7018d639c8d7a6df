// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package provider

import "github.com/husk-dev/husk/guest-sdk/internal/bindings"

//go:wasmexport husk:provider/provider@0.2.0#handshake
func exportHandshake(p0, p1, p2 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put8(8, p2)
	return answer(0, p.Record(12))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#handshake
func postHandshake(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#parameterize
func exportParameterize(p0, p1, p2, p3, p4, p5, p6, p7 uint32) uint32 {
	p := &bindings.Flat
	p.Put8(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put32(16, p4)
	p.Put32(20, p5)
	p.Put32(24, p6)
	p.Put8(28, p7)
	return answer(1, p.Record(32))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#parameterize
func postParameterize(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#get-schema
func exportGetSchema(p0, p1, p2, p3, p4 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put32(16, p4)
	return answer(2, p.Record(20))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#get-schema
func postGetSchema(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#get-mapping
func exportGetMapping(p0, p1, p2, p3 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	return answer(3, p.Record(16))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#get-mapping
func postGetMapping(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#get-mappings
func exportGetMappings(p0, p1 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	return answer(4, p.Record(8))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#get-mappings
func postGetMappings(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#check-config
func exportCheckConfig(p0 uint32) uint32 {
	return answer(5, bindings.Spilled(p0, 68))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#check-config
func postCheckConfig(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#diff-config
func exportDiffConfig(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
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
	p.Put32(40, p10)
	p.Put32(44, p11)
	p.Put32(48, p12)
	p.Put32(52, p13)
	p.Put32(56, p14)
	p.Put32(60, p15)
	return answer(6, p.Record(64))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#diff-config
func postDiffConfig(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#configure
func exportConfigure(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 uint32) uint32 {
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
	return answer(7, p.Record(40))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#configure
func postConfigure(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#check
func exportCheck(p0 uint32) uint32 {
	return answer(8, bindings.Spilled(p0, 68))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#check
func postCheck(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#diff
func exportDiff(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
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
	p.Put32(40, p10)
	p.Put32(44, p11)
	p.Put32(48, p12)
	p.Put32(52, p13)
	p.Put32(56, p14)
	p.Put32(60, p15)
	return answer(9, p.Record(64))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#diff
func postDiff(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#create
func exportCreate(p0, p1, p2, p3, p4, p5, p6, p7 uint32, p8 float64, p9 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put32(16, p4)
	p.Put32(20, p5)
	p.Put32(24, p6)
	p.Put32(28, p7)
	p.PutFloat(32, p8)
	p.Put8(40, p9)
	return answer(10, p.Record(48))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#create
func postCreate(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#read
func exportRead(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13 uint32, p14 float64) uint32 {
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
	p.Put8(44, p11)
	p.Put32(48, p12)
	p.Put32(52, p13)
	p.PutFloat(56, p14)
	return answer(11, p.Record(64))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#read
func postRead(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#update
func exportUpdate(p0 uint32) uint32 {
	return answer(12, bindings.Spilled(p0, 80))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#update
func postUpdate(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#delete
func exportDelete(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 uint32, p12 float64) uint32 {
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
	p.Put32(40, p10)
	p.Put32(44, p11)
	p.PutFloat(48, p12)
	return answer(13, p.Record(56))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#delete
func postDelete(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#list
func exportList(p0, p1, p2, p3 uint32, p4, p5 uint64, p6, p7 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put64(16, p4)
	p.Put64(24, p5)
	p.Put32(32, p6)
	p.Put32(36, p7)
	return answer(14, p.Record(40))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#list
func postList(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#invoke
func exportInvoke(p0, p1, p2, p3, p4 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put8(16, p4)
	return answer(15, p.Record(20))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#invoke
func postInvoke(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#stream-invoke
func exportStreamInvoke(p0, p1, p2, p3, p4 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put8(16, p4)
	return answer(16, p.Record(20))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#stream-invoke
func postStreamInvoke(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#stream-next
func exportStreamNext(p0 uint64) uint32 {
	p := &bindings.Flat
	p.Put64(0, p0)
	return answer(17, p.Record(8))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#stream-next
func postStreamNext(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#stream-close
func exportStreamClose(p0 uint64) uint32 {
	p := &bindings.Flat
	p.Put64(0, p0)
	return answer(18, p.Record(8))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#stream-close
func postStreamClose(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#open-ephemeral
func exportOpenEphemeral(p0, p1, p2, p3, p4 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put8(16, p4)
	return answer(19, p.Record(20))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#open-ephemeral
func postOpenEphemeral(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#renew-ephemeral
func exportRenewEphemeral(p0, p1, p2, p3 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	return answer(20, p.Record(16))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#renew-ephemeral
func postRenewEphemeral(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#close-ephemeral
func exportCloseEphemeral(p0, p1, p2, p3 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	return answer(21, p.Record(16))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#close-ephemeral
func postCloseEphemeral(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#run-action
func exportRunAction(p0, p1, p2, p3, p4 uint32) uint32 {
	p := &bindings.Flat
	p.Put32(0, p0)
	p.Put32(4, p1)
	p.Put32(8, p2)
	p.Put32(12, p3)
	p.Put8(16, p4)
	return answer(22, p.Record(20))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#run-action
func postRunAction(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#exists
func exportExists(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10 uint32, p11 float64) uint32 {
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
	p.PutFloat(48, p11)
	return answer(23, p.Record(56))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#exists
func postExists(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#call
func exportCall(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
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
	p.Put32(40, p10)
	p.Put32(44, p11)
	p.Put32(48, p12)
	p.Put32(52, p13)
	p.Put8(56, p14)
	p.Put32(60, p15)
	return answer(24, p.Record(64))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#call
func postCall(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#construct
func exportConstruct(p0 uint32) uint32 {
	return answer(25, bindings.Spilled(p0, 256))
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#construct
func postConstruct(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.2.0#cancel
func exportCancel() uint32 {
	return answer(26, nil)
}

//go:wasmexport cabi_post_husk:provider/provider@0.2.0#cancel
func postCancel(uint32) { bindings.Release() }
