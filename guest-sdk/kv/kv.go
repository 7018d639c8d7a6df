// Package kv keeps values for a provider from one deployment of a stack to the next: facts that are expensive to find out again,
// such as the regions of a service. It is a cache rather than a second state: a stack that is moved elsewhere does not take it
// along, and previews forget what they put there.
//
// Nobody else sees the values: neither other providers, nor other configurations of the
// same one. They are not encrypted. Without a grant each function's error wraps
// [abi.ErrDenied].
package kv

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// Item is the value of a key.
type Item struct {
	// Value is nil if the key has none.
	Value []byte
	// Revision changes with each write; it is 0 if the key has no value.
	Revision uint64
}

// Get returns a key's value.
func Get(ctx context.Context, key string) (Item, error) {
	found, err := store(ctx).Get(ctx, key)
	if err != nil || found.Value == nil {
		return Item{}, err
	}
	return Item{append([]byte{}, *found.Value...), found.Revision}, nil
}

// Put writes a value if the key still has the revision, and returns the new revision. Otherwise the
// error wraps [abi.ErrUnavailable].
func Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if value == nil {
		value = []byte{}
	}
	return store(ctx).Put(ctx, key, &value, revision)
}

// Delete deletes a key, if it still has the revision, as Put does.
func Delete(ctx context.Context, key string, revision uint64) error {
	_, err := store(ctx).Put(ctx, key, nil, revision)
	return err
}

// Keys returns the keys with a prefix, in order: those after a key, and at most so many.
func Keys(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	return store(ctx).Keys(ctx, prefix, after, uint32(max(0, min(limit, longestList))))
}

// longestList is more than a host returns at once.
const longestList = 1 << 16

type storeKey struct{}

// WithStore returns a context with a store for a provider in this program, for tests. The store of a
// module is the host's.
func WithStore(ctx context.Context, s abi.KV) context.Context {
	return context.WithValue(ctx, storeKey{}, s)
}
