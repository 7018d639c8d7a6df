package backend

import (
	"context"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/intake"
)

// DecodedSize returns how much memory the texts of a state take at most when they are decoded, garbage included.
func DecodedSize(texts ...[]byte) int64 {
	const ofValue, ofByte, once = 480, 8, 256 << 10
	size := int64(once)
	for _, text := range texts {
		size += int64(len(text)) * ofByte
	}
	return size + intake.Values(texts...)*ofValue
}

// Snapshot loads the state of a stack for others, with its secrets sealed. It asks for memory before it loads the text, which is in so many
// copies, and before it decodes that: a state may have a value for each two of its bytes.
func Snapshot(ctx context.Context, store state.Store, stack state.StackName, copies int64, room func(bytes int64) error) (*state.Snapshot, error) {
	contents, err := store.Load(intake.WithRoom(ctx, func(bytes int64) error { return room(copies * bytes) }), stack)
	if err == nil {
		err = room(DecodedSize(append([][]byte{contents.Checkpoint}, contents.Records...)...))
	}
	if err != nil {
		return nil, err
	}
	snapshot, _, err := contents.Decode(ctx, nil)
	return snapshot, err
}
