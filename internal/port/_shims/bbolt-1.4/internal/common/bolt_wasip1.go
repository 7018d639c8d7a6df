package common

// MaxMapSize and MaxAllocSize are those of other processors with 32 bits.
const (
	MaxMapSize   = 0x7FFFFFFF
	MaxAllocSize = 0xFFFFFFF
)
