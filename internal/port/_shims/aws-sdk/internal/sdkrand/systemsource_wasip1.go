package sdkrand

import (
	crand "crypto/rand"
	"encoding/binary"
)

// systemSource takes its numbers from the system, when they are asked for. It needs no seed.
type systemSource struct{}

func (systemSource) Int63() int64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // it never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

func (systemSource) Seed(int64) {}
