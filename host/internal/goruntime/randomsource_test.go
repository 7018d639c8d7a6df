package goruntime

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// Memory that is full of what looks like generators has none, and takes no longer to look at.
func TestWhatOnlyLooksLikeAGenerator(t *testing.T) {
	like := binary.LittleEndian.AppendUint32(nil, 4)
	like = binary.LittleEndian.AppendUint32(like, 32)
	for _, size := range []int{0, 8, 255, 256, 299, 300, 301, 4096, 1 << 20} {
		memory := bytes.Repeat(like, size/8+1)[:size]
		at, _ := findGenerator(memory, [seedSize]byte{})
		require.Zero(t, at)
	}
}
