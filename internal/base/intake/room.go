package intake

import (
	"context"
	"sync"
)

type roomKey struct{}

// WithRoom returns a context for the reads of a client whose memory is bounded. A read of possibly large data asks take for its
// bytes first. If take returns an error, the read returns it and loads nothing. take is called by one goroutine at a time.
func WithRoom(ctx context.Context, take func(bytes int64) error) context.Context {
	var mu sync.Mutex
	return context.WithValue(ctx, roomKey{}, func(bytes int64) error {
		mu.Lock()
		defer mu.Unlock()
		return take(bytes)
	})
}

// WithBudget returns a context for reads whose memory is somebody's of a budget, until end gives it back: reads that nobody waits for any
// longer get none then.
func WithBudget(ctx context.Context, b *Budget, who string) (bounded context.Context, end func()) {
	held := b.Hold(who)
	var mu sync.Mutex
	ended := false
	take := func(bytes int64) error {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return context.Canceled
		}
		return held.Add(bytes)
	}
	return WithRoom(ctx, take), func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		held.End()
	}
}

// WithoutRoom returns a context for reads that go on after a client's reads and ask for nothing.
func WithoutRoom(ctx context.Context) context.Context { return context.WithValue(ctx, roomKey{}, nil) }

// IsBounded reports whether reads with a context ask for room.
func IsBounded(ctx context.Context) bool { return ctx.Value(roomKey{}) != nil }

// Room asks for room for so many bytes, which a read is about to load.
func Room(ctx context.Context, bytes int64) error {
	if take, ok := ctx.Value(roomKey{}).(func(int64) error); ok && bytes > 0 {
		return take(bytes)
	}
	return nil
}
