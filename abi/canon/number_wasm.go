package canon

import "unsafe"

// Numbers in memory are little-endian, as all of WebAssembly is, whose loads and stores need
// no alignment. Go's compiler does not put bytes together there.

func u16(b []byte) uint16 { _ = b[1]; return *(*uint16)(unsafe.Pointer(unsafe.SliceData(b))) }

func u32(b []byte) uint32 { _ = b[3]; return *(*uint32)(unsafe.Pointer(unsafe.SliceData(b))) }

func u64(b []byte) uint64 { _ = b[7]; return *(*uint64)(unsafe.Pointer(unsafe.SliceData(b))) }

func putU16(b []byte, v uint16) { _ = b[1]; *(*uint16)(unsafe.Pointer(unsafe.SliceData(b))) = v }

func putU32(b []byte, v uint32) { _ = b[3]; *(*uint32)(unsafe.Pointer(unsafe.SliceData(b))) = v }

func putU64(b []byte, v uint64) { _ = b[7]; *(*uint64)(unsafe.Pointer(unsafe.SliceData(b))) = v }
