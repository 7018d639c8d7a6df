package host

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
)

// Limits on what a provider may do with its store.
const (
	// MaxKVKey bounds a key in bytes.
	MaxKVKey = 512
	// MaxKVValue bounds a value in bytes. What is larger belongs into a file.
	MaxKVValue = 256 << 10
	// MaxKVKeys is how many keys one answer lists.
	MaxKVKeys = 1000
)

// guestKV is the store of one provider, for one call.
type guestKV struct {
	store abi.KV
	used  uses
}

var _ abi.KV = guestKV{}

func (k guestKV) Get(ctx context.Context, key string) (abi.KVItem, error) {
	if err := k.admit("get", key); err != nil {
		return abi.KVItem{}, err
	}
	return k.store.Get(ctx, key)
}

func (k guestKV) Put(ctx context.Context, key string, value *[]byte, revision uint64) (uint64, error) {
	if err := k.admit("put", key); err != nil {
		return 0, err
	}
	if value != nil && len(*value) > MaxKVValue {
		return 0, hostError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the value has %d bytes, at most %d can be stored under one key", len(*value), MaxKVValue))
	}
	return k.store.Put(ctx, key, value, revision)
}

func (k guestKV) Keys(ctx context.Context, prefix, after string, limit uint32) ([]string, error) {
	if err := k.admit("keys", prefix); err != nil {
		return nil, err
	}
	return k.store.Keys(ctx, prefix, after, min(limit, MaxKVKeys))
}

// admit checks a key or prefix, and lists the use.
func (k guestKV) admit(what, key string) error {
	var err error
	switch {
	case k.store == nil:
		err = hostError(abi.ErrorKindDenied, "the provider may not keep values: its grants have no store"+
			"\nto grant it, add to this provider's entry under plugins.providers in the project file:\n  grants:\n    kv: true")
	case len(key) > MaxKVKey || !utf8.ValidString(key) || key == "" && what != "keys":
		return hostError(abi.ErrorKindInvalidArgument, fmt.Sprintf("a key is text of 1 to %d bytes", MaxKVKey))
	}
	k.used.note("kv", what+" "+key, err)
	return err
}
