// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package provider

import (
	"math"

	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

//go:wasmexport husk:provider/provider@0.1.0#handshake
func exportHandshake(p0, p1, p2 uint32) uint32 {
	return bindings.Answer(serve, 0, uint64(p0), uint64(p1), uint64(p2))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#handshake
func postHandshake(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#parameterize
func exportParameterize(p0, p1, p2, p3, p4, p5, p6, p7 uint32) uint32 {
	return bindings.Answer(serve, 1, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#parameterize
func postParameterize(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#get-schema
func exportGetSchema(p0, p1, p2, p3, p4 uint32) uint32 {
	return bindings.Answer(serve, 2, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#get-schema
func postGetSchema(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#get-mapping
func exportGetMapping(p0, p1, p2, p3 uint32) uint32 {
	return bindings.Answer(serve, 3, uint64(p0), uint64(p1), uint64(p2), uint64(p3))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#get-mapping
func postGetMapping(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#get-mappings
func exportGetMappings(p0, p1 uint32) uint32 {
	return bindings.Answer(serve, 4, uint64(p0), uint64(p1))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#get-mappings
func postGetMappings(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#check-config
func exportCheckConfig(p0 uint32) uint32 {
	return bindings.Answer(serve, 5, uint64(p0))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#check-config
func postCheckConfig(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#diff-config
func exportDiffConfig(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
	return bindings.Answer(serve, 6, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11), uint64(p12), uint64(p13), uint64(p14), uint64(p15))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#diff-config
func postDiffConfig(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#configure
func exportConfigure(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 uint32) uint32 {
	return bindings.Answer(serve, 7, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#configure
func postConfigure(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#check
func exportCheck(p0 uint32) uint32 {
	return bindings.Answer(serve, 8, uint64(p0))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#check
func postCheck(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#diff
func exportDiff(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
	return bindings.Answer(serve, 9, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11), uint64(p12), uint64(p13), uint64(p14), uint64(p15))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#diff
func postDiff(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#create
func exportCreate(p0, p1, p2, p3, p4, p5, p6, p7 uint32, p8 float64, p9 uint32) uint32 {
	return bindings.Answer(serve, 10, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), math.Float64bits(p8), uint64(p9))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#create
func postCreate(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#read
func exportRead(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13 uint32, p14 float64) uint32 {
	return bindings.Answer(serve, 11, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11), uint64(p12), uint64(p13), math.Float64bits(p14))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#read
func postRead(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#update
func exportUpdate(p0 uint32) uint32 {
	return bindings.Answer(serve, 12, uint64(p0))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#update
func postUpdate(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#delete
func exportDelete(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 uint32, p12 float64) uint32 {
	return bindings.Answer(serve, 13, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11), math.Float64bits(p12))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#delete
func postDelete(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#list
func exportList(p0, p1, p2, p3 uint32, p4, p5 uint64, p6, p7 uint32) uint32 {
	return bindings.Answer(serve, 14, uint64(p0), uint64(p1), uint64(p2), uint64(p3), p4, p5, uint64(p6), uint64(p7))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#list
func postList(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#invoke
func exportInvoke(p0, p1, p2, p3, p4 uint32) uint32 {
	return bindings.Answer(serve, 15, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#invoke
func postInvoke(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#stream-invoke
func exportStreamInvoke(p0, p1, p2, p3, p4 uint32) uint32 {
	return bindings.Answer(serve, 16, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#stream-invoke
func postStreamInvoke(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#stream-next
func exportStreamNext(p0 uint64) uint32 {
	return bindings.Answer(serve, 17, p0)
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#stream-next
func postStreamNext(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#stream-close
func exportStreamClose(p0 uint64) uint32 {
	return bindings.Answer(serve, 18, p0)
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#stream-close
func postStreamClose(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#call
func exportCall(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15 uint32) uint32 {
	return bindings.Answer(serve, 19, uint64(p0), uint64(p1), uint64(p2), uint64(p3), uint64(p4), uint64(p5), uint64(p6), uint64(p7), uint64(p8), uint64(p9), uint64(p10), uint64(p11), uint64(p12), uint64(p13), uint64(p14), uint64(p15))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#call
func postCall(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#construct
func exportConstruct(p0 uint32) uint32 {
	return bindings.Answer(serve, 20, uint64(p0))
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#construct
func postConstruct(uint32) { bindings.Release() }

//go:wasmexport husk:provider/provider@0.1.0#cancel
func exportCancel() uint32 {
	return bindings.Answer(serve, 21)
}

//go:wasmexport cabi_post_husk:provider/provider@0.1.0#cancel
func postCancel(uint32) { bindings.Release() }
